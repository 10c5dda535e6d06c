/// Collects what is wrong with the fields of a request, so that all of it is answered at once (PF-2).
public struct FieldCheck {
    private var details: [ServiceError.Detail] = []

    /// Nothing is wrong yet.
    public init() {}

    /// The value of a check; nil when it failed, which is remembered.
    ///
    /// - Throws: a refusal that is about no field.
    public mutating func take<Value>(_ check: () throws -> Value) throws -> Value? {
        do { return try check() } catch let error as ServiceError where error.reason == "VALIDATION_ERROR" {
            details += error.details
            return nil
        }
    }

    /// The checked form of what was sent; nil when nothing was, or the check failed, which is remembered.
    ///
    /// - Throws: a refusal that is about no field.
    public mutating func take<Sent, Value>(_ sent: Sent?, _ check: (Sent) throws -> Value) throws -> Value? {
        guard let sent else { return nil }
        return try take { try check(sent) }
    }

    /// Remembers what is wrong with a field, unless a condition holds.
    public mutating func require(_ holds: Bool, _ field: String, _ problem: String) {
        if !holds { details.append(ServiceError.Detail(field: field, message: problem)) }
    }

    /// - Throws: `VALIDATION_ERROR` with an entry for each field that failed.
    public func finish() throws {
        if !details.isEmpty { throw ServiceError.validation(details) }
    }

    /// What a check of fields finds wrong; none for a refusal that is about no field.
    public static func problems(_ check: () throws -> Void) -> [ServiceError.Detail] {
        do { try check() } catch let error as ServiceError where error.reason == "VALIDATION_ERROR" {
            return error.details
        } catch {}
        return []
    }
}
