internal import Kernel

/// Collects what is wrong with the fields of a request, so that all of it is answered at once (PF-2).
struct FieldCheck {
    private var details: [ServiceError.Detail] = []

    /// The value of a check; nil when it failed, which is remembered.
    ///
    /// - Throws: a refusal that is about no field.
    mutating func take<Value>(_ check: () throws -> Value) throws -> Value? {
        do { return try check() } catch let error as ServiceError where error.reason == "VALIDATION_ERROR" {
            details += error.details
            return nil
        }
    }

    /// - Throws: `VALIDATION_ERROR` with an entry for each field that failed.
    func finish() throws {
        if !details.isEmpty { throw ServiceError.validation(details) }
    }
}
