/// The test kit could not do what a test asked of it.
public struct TestKitError: Error, Hashable, Sendable, CustomStringConvertible {
    /// As test-environment says it, such as `VALIDATION_ERROR` or `NOT_FOUND`; `NOT_STARTED`, `NO_WORLD`, `BAD_REPLY` and
    /// `NEVER_HAPPENED` are the kit's own.
    public let code: String
    /// What went wrong, for people.
    public let message: String
    /// What is wrong in the request; nil when no field is to blame.
    public let field: String?
    /// The status of test-environment's reply; nil without one.
    public let status: Int?

    init(_ code: String, _ message: String, field: String? = nil, status: Int? = nil) {
        (self.code, self.message, self.field, self.status) = (code, message, field, status)
    }

    /// Code, field and message.
    public var description: String { "\(code): \(field.map { "\($0): " } ?? "")\(message)" }
}
