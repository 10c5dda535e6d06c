internal import FoundationEssentials
internal import Kernel

/// The replies of the NATS services protocol (ADR-32), so that `nats micro` and the gateway find a service.
struct Discovery: Sendable {
    let name: String
    let id: String
    let version: String
    let description: String
    let metadata: [String: String]
    let started: Instant

    /// The facts of one endpoint.
    struct EndpointState: Sendable {
        let endpoint: Endpoint
        let queue: String
        let statistics: EndpointStatistics
    }

    enum Verb: String, CaseIterable, Sendable {
        case ping = "PING"
        case info = "INFO"
        case stats = "STATS"
    }

    /// The subjects on which this instance answers `verb`: for all services, this service, this instance.
    func subjects(_ verb: Verb) -> [String] {
        let base = "$SRV.\(verb.rawValue)"
        return [base, "\(base).\(name)", "\(base).\(name).\(id)"]
    }

    /// The reply to `verb`, as JSON.
    ///
    /// - Parameter condition: what to say in the metadata beside that which never changes.
    func reply(_ verb: Verb, _ endpoints: [EndpointState], condition: [String: String] = [:]) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var reply = Reply(
            type: "io.nats.micro.v1.\(verb.rawValue.lowercased())_response",
            name: name,
            id: id,
            version: version,
            metadata: metadata.merging(condition) { $1 }
        )
        switch verb {
        case .ping: break
        case .info:
            reply.description = description
            reply.endpoints = endpoints.map { Reply.Endpoint($0, isStats: false) }
        case .stats:
            reply.started = started.description
            reply.endpoints = endpoints.map { Reply.Endpoint($0, isStats: true) }
        }
        return Array(try encoder.encode(reply))
    }

    private struct Reply: Encodable {
        var type: String
        var name: String
        var id: String
        var version: String
        var metadata: [String: String]
        var description: String?
        var started: String?
        var endpoints: [Endpoint]?

        struct Endpoint: Encodable {
            var name: String
            var subject: String
            var queueGroup: String
            var metadata: [String: String]?
            var requests: Int64?
            var errors: Int64?
            var lastError: String?
            var processingTime: Int64?
            var averageProcessingTime: Int64?

            init(_ state: EndpointState, isStats: Bool) {
                name = state.endpoint.name
                subject = state.endpoint.subject
                queueGroup = state.queue
                if isStats {
                    requests = state.statistics.requests
                    errors = state.statistics.errors
                    lastError = state.statistics.lastError
                    processingTime = state.statistics.processingNanoseconds
                    averageProcessingTime = state.statistics.averageNanoseconds
                } else {
                    metadata = state.endpoint.metadata
                }
            }

            enum CodingKeys: String, CodingKey {
                case name, subject, metadata
                case queueGroup = "queue_group"
                case requests = "num_requests"
                case errors = "num_errors"
                case lastError = "last_error"
                case processingTime = "processing_time"
                case averageProcessingTime = "average_processing_time"
            }
        }
    }
}

/// The names and versions that ADR-32 allows.
enum ServiceNaming {
    /// `^[a-zA-Z0-9_-]+$`.
    static func isName(_ text: String) -> Bool {
        !text.utf8.isEmpty && text.utf8.allSatisfy { isWord($0) || $0 == UInt8(ascii: "_") }
    }

    /// Semantic Versioning 2.0: three numbers, optionally `-pre.release` and `+build`.
    static func isVersion(_ text: String) -> Bool {
        let parts = text.split(separator: "+", maxSplits: 1, omittingEmptySubsequences: false)
        let halves = parts[0].split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let numbers = halves[0].split(separator: ".", omittingEmptySubsequences: false)
        guard numbers.count == 3, numbers.allSatisfy(isNumber) else { return false }
        if halves.count == 2 {
            let labels = halves[1].split(separator: ".", omittingEmptySubsequences: false)
            guard labels.allSatisfy({ isLabel($0) && (!$0.utf8.allSatisfy(isDigit) || isNumber($0)) }) else { return false }
        }
        return parts.count == 1 || parts[1].split(separator: ".", omittingEmptySubsequences: false).allSatisfy(isLabel)
    }

    private static func isNumber(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(isDigit) && (text == "0" || text.utf8.first != UInt8(ascii: "0"))
    }

    private static func isLabel(_ text: Substring) -> Bool { !text.isEmpty && text.utf8.allSatisfy(isWord) }

    private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }

    private static func isWord(_ byte: UInt8) -> Bool {
        isDigit(byte) || (65...90).contains(byte) || (97...122).contains(byte) || byte == UInt8(ascii: "-")
    }
}
