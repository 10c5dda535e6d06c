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

    /// A text of at most so many characters (grapheme clusters).
    mutating func text(_ most: Int, least: Int = 0) throws(JSONProblem) -> String? {
        guard try has(.string) else { return nil }
        let text = try json.string()
        guard (least...most).contains(text.count) else {
            error("must have \(least) to \(most) characters, not \(text.count)")
            return nil
        }
        return text
    }

    /// A name: trimmed.
    mutating func name(_ most: Int) throws(JSONProblem) -> String? {
        guard let text = try text(1000) else { return nil }
        let name = HabitFileRules.trimmed(text)
        guard (1...most).contains(name.count) else {
            error("must have 1 to \(most) characters, not \(name.count)")
            return nil
        }
        return name
    }

    mutating func color() throws(JSONProblem) -> String? {
        guard let text = try text(100) else { return nil }
        guard HabitFileRules.isColor(text) else {
            error("must be a colour as #RRGGBB")
            return nil
        }
        return text
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
