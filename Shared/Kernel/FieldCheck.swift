/// Collects what is wrong with the fields of a request, so that all of it is answered at once (PF-2).
public struct FieldCheck {
    private var details: [ServiceError.Detail] = []

    /// Nothing is wrong yet.
    public init() {}

    /// The value of a check; nil when it failed, which is remembered unless something is wrong with the field already.
    ///
    /// - Throws: a refusal that is about no field.
    public mutating func take<Value>(_ check: () throws -> Value) throws -> Value? {
        do { return try check() } catch let error as ServiceError where error.reason == "VALIDATION_ERROR" {
            let known = Set(details.map(\.field))
            details += error.details.filter { !known.contains($0.field) }
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

    /// Remembers what is wrong with a field, unless a condition holds or something is wrong with it already.
    public mutating func require(_ holds: Bool, _ field: String, _ problem: String) {
        if !holds, !details.contains(where: { $0.field == field }) {
            details.append(ServiceError.Detail(field: field, message: problem))
        }
    }

    /// - Throws: `VALIDATION_ERROR` with an entry for each field that failed.
    public func finish() throws {
        if !details.isEmpty { throw ServiceError.validation(details) }
    }

    /// What checks of fields find wrong; none for a refusal that is about no field.
    public static func problems(_ checks: (inout FieldCheck) throws -> Void) -> [ServiceError.Detail] {
        problems {
            var check = FieldCheck()
            try checks(&check)
            try check.finish()
        }
    }

    /// What a check of fields finds wrong; none for a refusal that is about no field.
    public static func problems(_ check: () throws -> Void) -> [ServiceError.Detail] {
        do { try check() } catch let error as ServiceError where error.reason == "VALIDATION_ERROR" {
            return error.details
        } catch {}
        return []
    }
}

extension [ServiceError.Detail] {
    /// Adds what is wrong with other fields than those that are here: neither with what holds one of them, nor with a part of one, nor with the
    /// request as a whole, which may be wrong because of them.
    ///
    /// - Parameter most: entries there are at most afterwards, unless there are more already.
    public mutating func add(_ found: [ServiceError.Detail], most: Int) {
        // `a.b[2]["k"]` and `a.b[2][k]` are the same place.
        func parts(_ field: String) -> [Substring] { field.split { ".[]\"".contains($0) } }
        let known = map { parts($0.field) }.filter { !$0.isEmpty }
        let others = found.filter { detail in
            let place = parts(detail.field)
            return !place.isEmpty && !known.contains { $0.starts(with: place) || place.starts(with: $0) }
        }
        self += others.prefix(Swift.max(0, most - count))
    }
}
