import Kernel

/// Reads the values of a backup document. What is wrong with one is noted with its path, and reading goes on; only what is no JSON ends it.
struct DocumentFields {
    var json: JSONReader
    var problems = HabitFileProblems()
    let context: HabitFileContext

    init(_ bytes: [UInt8], _ context: HabitFileContext) {
        json = JSONReader(bytes)
        self.context = context
    }

    /// Notes an error at the present place.
    mutating func error(_ message: String) { problems.error(json.path, message) }

    /// Whether a value of this kind follows. `null` is the same as none; anything else is noted, and both are skipped.
    private mutating func has(_ kind: JSONReader.Kind) throws(JSONProblem) -> Bool {
        let found = try json.kind()
        if found == kind { return true }
        if found != .null { error("must be a \(kind.rawValue), not a \(found.rawValue)") }
        try json.skip()
        return false
    }

    mutating func beginObject() throws(JSONProblem) -> Bool {
        guard try has(.object) else { return false }
        try json.beginObject()
        return true
    }

    mutating func beginArray() throws(JSONProblem) -> Bool {
        guard try has(.array) else { return false }
        try json.beginArray()
        return true
    }

    /// A member that this version does not have.
    mutating func unknown() throws(JSONProblem) {
        error("is unknown")
        try json.skip()
    }

    /// A string of whatever kind; at most so many bytes.
    mutating func string(_ most: Int = 100) throws(JSONProblem) -> String? {
        guard try has(.string) else { return nil }
        let text = try json.string()
        guard text.utf8.count <= most else {
            error("must be at most \(most) bytes")
            return nil
        }
        return text
    }

    /// An id of any form, by which parts of the document are joined. As everywhere, a UUID is the same in capitals.
    mutating func key() throws(JSONProblem) -> String? { try string().map { HabitID($0)?.description ?? $0 } }

    /// A string that meets a rule; what the rule says against it is noted.
    private mutating func string(_ rule: (String) throws(ServiceError) -> String) throws(JSONProblem) -> String? {
        guard try has(.string) else { return nil }
        let text = try json.string()
        do throws(ServiceError) { return try rule(text) } catch {
            self.error(error.details.first?.message ?? error.message)
            return nil
        }
    }

    mutating func text(_ most: Int) throws(JSONProblem) -> String? {
        try string { text throws(ServiceError) in try HabitText.text(text, field: "", most: most) }
    }

    mutating func line(_ most: Int) throws(JSONProblem) -> String? {
        try string { text throws(ServiceError) in try HabitText.line(text, field: "", most: most) }
    }

    mutating func name(_ most: Int) throws(JSONProblem) -> String? {
        try string { text throws(ServiceError) in try HabitText.name(text, field: "", most: most) }
    }

    mutating func color() throws(JSONProblem) -> String? {
        try string { text throws(ServiceError) in try HabitText.color(text, field: "") }
    }

    mutating func icon() throws(JSONProblem) -> String? {
        try string { text throws(ServiceError) in try HabitText.icon(text, field: "") }
    }

    mutating func mood() throws(JSONProblem) -> HabitMood? {
        guard try has(.string) else { return nil }
        guard let mood = HabitMood(name: try json.string()) else {
            error("must be \(HabitMood.allCases.map(\.name).joined(separator: ", "))")
            return nil
        }
        return mood
    }

    /// Minutes after midnight of `hh:mm` or `hh:mm:ss`.
    mutating func minute() throws(JSONProblem) -> Int? {
        guard let text = try string() else { return nil }
        guard let minute = HabitFileRules.minute(text) else {
            error("must be a time as hh:mm")
            return nil
        }
        return minute
    }

    mutating func bool() throws(JSONProblem) -> Bool? { try has(.bool) ? try json.bool() : nil }

    mutating func integer(_ range: ClosedRange<Int>) throws(JSONProblem) -> Int? {
        guard try has(.number) else { return nil }
        guard let value = Int(exactly: try json.number()), range.contains(value) else {
            error("must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
        return value
    }

    /// Whole numbers, each once.
    mutating func integers(_ range: ClosedRange<Int>) throws(JSONProblem) -> Set<Int>? {
        guard try beginArray() else { return nil }
        var found: Set<Int> = []
        while try json.nextElement() {
            if let value = try integer(range), !found.insert(value).inserted { error("is there twice") }
        }
        return found
    }

    mutating func amount() throws(JSONProblem) -> Amount? {
        guard try has(.number) else { return nil }
        let value = try json.number()
        do throws(ServiceError) { return try Amount(value, field: "") } catch {
            self.error(error.details.first?.message ?? error.message)
            return nil
        }
    }

    mutating func instant() throws(JSONProblem) -> Instant? {
        guard try has(.string) else { return nil }
        guard let instant = Instant(rfc3339: try json.string()), Instant.writable.contains(instant) else {
            error("must be a time as 2026-01-02T03:04:05Z")
            return nil
        }
        return instant
    }

    /// - Parameter past: whether it must be one that has begun.
    mutating func date(past: Bool) throws(JSONProblem) -> CalendarDate? {
        guard try has(.string) else { return nil }
        guard let date = CalendarDate(try json.string()) else {
            error("must be a date as YYYY-MM-DD")
            return nil
        }
        if let problem = past || date < context.today ? context.problem(with: date) : nil {
            error(problem)
            return nil
        }
        return date
    }

    mutating func id<Kind>() throws(JSONProblem) -> ID<Kind>? {
        guard try has(.string) else { return nil }
        guard let id = ID<Kind>(try json.string()) else {
            error("must be a UUID")
            return nil
        }
        return id
    }

    mutating func choice<Value: RawRepresentable & CaseIterable>(_: Value.Type) throws(JSONProblem) -> Value?
    where Value.RawValue == String {
        guard try has(.string) else { return nil }
        guard let value = Value(rawValue: try json.string()) else {
            error("must be \(Value.allCases.map(\.rawValue).joined(separator: ", "))")
            return nil
        }
        return value
    }
}
