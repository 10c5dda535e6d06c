internal import Bus
internal import FoundationEssentials
internal import Kernel
internal import Logging
private import Synchronization
internal import Transcoding

/// Which services are on the bus and which routes they bring (D2).
///
/// Asks `$SRV.INFO` again and again; a descriptor hash that is new is fetched from the service and installed while requests run. What was
/// learned stays when a service goes away, so its routes answer UNAVAILABLE instead of NOT_FOUND.
final class ServiceCatalog: Sendable {
    private struct State {
        var hashes: [String: String] = [:]
        var seen: [String: ContinuousClock.Instant] = [:]
    }

    let routes = RouteTable()
    private let bus: BusConnection
    private let logger: Logger
    private let state = Mutex(State())

    init(bus: BusConnection, logger: Logger) {
        self.bus = bus
        self.logger = logger
    }

    /// Services that have answered lately.
    var answering: Set<String> {
        let limit = ContinuousClock.now.advanced(by: .seconds(-5))
        return state.withLock { state in Set(state.seen.filter { $0.value > limit }.keys) }
    }

    /// Whether the routes of all these services are installed; a service that went away stays known.
    func knows(_ services: Set<String>) -> Bool { state.withLock { services.isSubset(of: $0.hashes.keys) } }

    /// The OpenAPI page of all routes.
    ///
    /// - Parameter developmentClock: whether this gateway has the routes of the development clock.
    func openAPI(developmentClock: Bool) -> [UInt8] {
        OpenAPI.document(routes.routes, title: "StreakSnap", version: "v1", developmentClock: developmentClock)
    }

    /// Asks until cancelled: often while a service is missing, every two seconds after that.
    func run(expecting names: Set<String>) async {
        while !Task.isCancelled {
            await look()
            let isComplete = names.isSubset(of: answering)
            try? await Task.sleep(for: isComplete ? .seconds(2) : .milliseconds(100))
        }
    }

    /// One round of discovery.
    func look() async {
        guard let replies = try? await bus.scatter("$SRV.INFO", body: [], for: .milliseconds(250), atMost: 1_000) else { return }
        for reply in replies {
            guard let info = try? JSONDecoder().decode(ServiceInfo.self, from: Data(reply.body)) else { continue }
            let isNew = state.withLock { state -> Bool in
                state.seen[info.name] = .now
                return info.metadata?["descriptor"].map { state.hashes[info.name] != $0 } ?? false
            }
            if isNew { await install(info) }
        }
    }

    private func install(_ info: ServiceInfo) async {
        do {
            let reply = try await bus.callRaw(
                subject: "rpc.\(info.name).v1.Descriptor",
                body: [],
                context: CallContext(deadline: SystemClock.now() + .seconds(5)),
                idempotent: true
            )
            let descriptor = try DescriptorReply(reply)
            let refusals = routes.install(try DescriptorSet(serialized: descriptor.set), service: info.name)
            state.withLock { $0.hashes[info.name] = descriptor.hash }
            for refusal in refusals {
                logger.error("a route was refused", metadata: ["service": "\(info.name)", "refusal": "\(refusal)"])
            }
            logger.info("routes taken up", metadata: ["service": "\(info.name)", "version": "\(info.version)"])
        } catch {
            logger.warning("a descriptor was not taken up", metadata: ["service": "\(info.name)", "error": "\(error)"])
        }
    }

    private struct ServiceInfo: Decodable {
        let name: String
        let version: String
        let metadata: [String: String]?
    }
}

/// streaksnap.common.v1.DescriptorReply, read without its message type: field 1 the set, field 2 its hash.
struct DescriptorReply {
    let set: [UInt8]
    let hash: String

    /// - Throws: `INTERNAL` for bytes that are no such message.
    init(_ bytes: [UInt8]) throws {
        var set: [UInt8] = []
        var hash = ""
        var rest = bytes[...]
        while let tag = rest.popFirst() {
            guard let length = Self.varint(&rest), length <= rest.count else { throw ServiceError.internal }
            let value = rest.prefix(length)
            rest = rest.dropFirst(length)
            switch tag {
            case 0x0A: set = Array(value)
            case 0x12: hash = String(decoding: value, as: UTF8.self)
            default: throw ServiceError.internal
            }
        }
        guard !set.isEmpty else { throw ServiceError.internal }
        self.set = set
        self.hash = hash
    }

    private static func varint(_ bytes: inout ArraySlice<UInt8>) -> Int? {
        var value = 0
        for shift in stride(from: 0, to: 35, by: 7) {
            guard let byte = bytes.popFirst() else { return nil }
            value |= Int(byte & 0x7F) << shift
            if byte < 0x80 { return value }
        }
        return nil
    }
}
