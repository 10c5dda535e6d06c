public import Kernel

/// What was read of a request.
public struct RequestReading: Sendable {
    /// The request message. The place of a value that cannot be read is kept by a stand-in, so that what else is wrong with the request can
    /// be found.
    public var message: [UInt8]
    /// The same with other stand-ins; nil when there are none.
    var other: [UInt8]?
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

    /// Adds what a service finds wrong with the message, as long as it is about other fields than the problems that are there, and is wrong
    /// with other stand-ins too: what it says of a stand-in, of what holds one, or of the request as a whole may be wrong.
    ///
    /// - Parameter find: asks the service what is wrong with a message.
    public mutating func add(_ find: ([UInt8]) async -> [ServiceError.Detail]) async {
        var whole = self
        whole.problems.add(await find(message), most: RequestEncoder.maximumDetails)
        let found = whole.problems.dropFirst(problems.count)
        guard let other, !found.isEmpty else { return self = whole }
        let again = await find(other)
        problems += found.filter(again.contains)
    }

    /// The request message.
    ///
    /// - Throws: `VALIDATION_ERROR` with an entry for each wrong field.
    public func request() throws(ServiceError) -> [UInt8] {
        guard problems.isEmpty else { throw .validation(problems) }
        return message
    }
}
