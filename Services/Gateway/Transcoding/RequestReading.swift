public import Kernel

/// What was read of a request.
public struct RequestReading: Sendable {
    /// The request message. The place of a value that cannot be read is kept by a stand-in, so that what else is wrong with the request can
    /// be found.
    public var message: [UInt8]
    /// What is wrong, one entry for each field; none: the message is the request.
    public var problems: [ServiceError.Detail]

    /// Whether all of it was read: of JSON that cannot be read nothing more can be said.
    var isWhole: Bool

    /// Whether more may be wrong than is known.
    public var mayHideProblems: Bool { isWhole && !problems.isEmpty && problems.count < RequestEncoder.maximumDetails }

    /// Adds what is wrong with the form that the message was read from, before all else.
    public mutating func begin(with found: [ServiceError.Detail]) {
        problems = Array((found + problems).prefix(RequestEncoder.maximumDetails))
    }

    /// Adds what a service finds wrong with the message, as long as it is about other fields than the problems that are there: what it says
    /// of a stand-in, of what holds one, or of the request as a whole may be wrong.
    public mutating func add(_ found: [ServiceError.Detail]) { problems.add(found, most: RequestEncoder.maximumDetails) }

    /// The request message.
    ///
    /// - Throws: `VALIDATION_ERROR` with an entry for each wrong field.
    public func request() throws(ServiceError) -> [UInt8] {
        guard problems.isEmpty else { throw .validation(problems) }
        return message
    }
}
