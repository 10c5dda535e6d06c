public import Kernel

/// The question what is wrong with the fields of a request, without anything being done (PF-2).
///
/// It is a request of the method with the field `only-checks`, whose body has one byte more: the tag of field 0, which no reader of protobuf
/// takes. So a service that does not know the question, an older release say, cannot take it for the request.
enum FieldQuestion {
    private static let end: UInt8 = 0x07

    /// The body of the question about a request.
    static func body(about request: [UInt8]) -> [UInt8] { request + [end] }

    /// The request that a question is about; nil when it is none.
    static func request(in body: [UInt8]) -> [UInt8]? { body.last == end ? Array(body.dropLast()) : nil }
}

extension BusConnection {
    /// Asks a service what is wrong with the fields of a request of which the caller knows that it is wrong. Nothing is done.
    ///
    /// - Parameters:
    ///   - subject: The method's subject, `rpc.auth.v1.Register`.
    ///   - body: The serialized request; fields that cannot be read have a stand-in.
    ///   - context: Principal and deadline.
    /// - Returns: An entry for each wrong field; none of a service that does not answer. An older release names the request as a whole.
    public func problems(subject: String, body: [UInt8], context: CallContext) async -> [ServiceError.Detail] {
        var question = context
        question.onlyChecks = true
        do {
            _ = try await callRaw(subject: subject, body: FieldQuestion.body(about: body), context: question, idempotent: true)
        } catch let error as ServiceError where error.reason == "VALIDATION_ERROR" {
            return error.details
        } catch {}
        return []
    }
}
