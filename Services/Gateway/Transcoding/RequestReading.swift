public import Kernel

/// What was read of a request.
public struct RequestReading: Sendable {
    /// The request message. The place of a value that cannot be read is kept by a stand-in (zero or empty), so that what else is wrong with
    /// the request can be found.
    public var message: [UInt8]
    /// What is wrong, one entry for each field; none: the message is the request.
    public var problems: [ServiceError.Detail]

    /// Whether more may be wrong than is known: of JSON that cannot be read nothing more can be said.
    public var mayHideProblems: Bool {
        !problems.isEmpty && problems.count < RequestEncoder.maximumDetails && !problems.contains { $0.field.isEmpty }
    }

    /// Adds what a service finds wrong with the message, as long as it is about other fields than the problems that are there: what it says
    /// of a stand-in, of what holds one, or of the request as a whole may be wrong.
    public mutating func add(_ found: [ServiceError.Detail]) {
        let known = problems.map { Self.parts($0.field) }
        let others = found.filter { detail in
            let parts = Self.parts(detail.field)
            return !known.contains { $0.starts(with: parts) || parts.starts(with: $0) }
        }
        problems += others.prefix(max(0, RequestEncoder.maximumDetails - problems.count))
    }

    /// The request message.
    ///
    /// - Throws: `VALIDATION_ERROR` with an entry for each wrong field.
    public func request() throws(ServiceError) -> [UInt8] {
        guard problems.isEmpty else { throw .validation(problems) }
        return message
    }

    /// `a.b[2]["k"]` and `a.b[2][k]`: the same place.
    private static func parts(_ field: String) -> [Substring] { field.split { ".[]\"".contains($0) } }
}
