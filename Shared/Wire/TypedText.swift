public import Kernel

/// What stands in a request for a text that should be an id or a date (`id` and `date` of the field's options) and is neither, until
/// validation reports it. Marks are values that no text becomes: UUIDs of no version and days that no calendar has.
enum Mark {
    /// The field was empty or absent.
    static let missing: (high: UInt64, low: UInt64) = (.max, .max - 1)
    /// The text was something else.
    static let malformed: (high: UInt64, low: UInt64) = (.max, .max - 2)
    static let missingDate = CalendarDate(dayNumber: .min)
    static let malformedDate = CalendarDate(dayNumber: .min + 1)
}

extension Violations {
    /// `id`: the text was a UUID.
    @inlinable
    public mutating func id<Entity>(_ id: ID<Entity>, at path: FieldPath, _ field: StaticString, index: Int? = nil) {
        // Every mark begins with these bits, and hardly anything else.
        if id.high == .max { mark((id.high, id.low), at: path, field, index: index) }
    }

    @usableFromInline
    mutating func mark(_ halves: (high: UInt64, low: UInt64), at path: FieldPath, _ field: StaticString, index: Int?) {
        if halves == Mark.missing, index == nil { return required(at: path, field) }
        if halves == Mark.missing || halves == Mark.malformed {
            add("must be \(TextFormat.uuid.description)", at: path, field, index: index)
        }
    }

    /// `date`: the text was a date.
    public mutating func date(_ date: CalendarDate, at path: FieldPath, _ field: StaticString, index: Int? = nil) {
        if date == Mark.missingDate, index == nil { return required(at: path, field) }
        if date == Mark.missingDate || date == Mark.malformedDate {
            add("must be \(TextFormat.date.description)", at: path, field, index: index)
        }
    }
}
