internal import Glibc
public import Kernel

/// What decoding does with a text that should be an id or a date (`id` and `date` of the field's options) and is neither.
public enum UnreadableText: Sendable {
    /// Throws `WireError.unreadable`: in an event or a reply it is a defect of the sender.
    case refused
    /// Puts a mark in its place, which validation reports with everything else that is wrong with a request.
    case marked
}

/// Marks are values that no text becomes: as UUIDs of no version and as days that no calendar has.
private enum Mark {
    /// The field was empty or absent.
    static let missing: (high: UInt64, low: UInt64) = (.max, .max - 1)
    /// The text was something else.
    static let malformed: (high: UInt64, low: UInt64) = (.max, .max - 2)
    static let missingDate = CalendarDate(dayNumber: .min)
    static let malformedDate = CalendarDate(dayNumber: .min + 1)
}

// How generated code reads ids and dates.
extension Decode {
    /// An id that must be there.
    ///
    /// - Throws: `WireError.unreadable` naming `field`, unless it is to be marked.
    @inlinable
    public static func id<Entity>(_ text: UnsafePointer<CChar>?, _ field: StaticString, _ unreadable: UnreadableText)
        throws(WireError) -> ID<Entity>
    {
        let (high, low) = try halves(text, field, unreadable)
        return ID(high: high, low: low)
    }

    /// An id that may be left out: nil for absent or empty text.
    @inlinable
    public static func optionalID<Entity>(_ text: UnsafePointer<CChar>?, _ field: StaticString, _ unreadable: UnreadableText)
        throws(WireError) -> ID<Entity>?
    {
        guard let text, text.pointee != 0 else { return nil }
        return try id(text, field, unreadable)
    }

    /// A list of ids.
    @inlinable
    public static func ids<Entity>(
        _ data: UnsafePointer<UnsafeMutablePointer<CChar>?>?,
        count: Int,
        _ field: StaticString,
        _ unreadable: UnreadableText
    ) throws(WireError) -> [ID<Entity>] {
        try list(data, count: count) { (text) throws(WireError) in try id(text, field, unreadable) }
    }

    /// A date that must be there.
    ///
    /// - Throws: `WireError.unreadable` naming `field`, unless it is to be marked.
    public static func date(_ text: UnsafePointer<CChar>?, _ field: StaticString, _ unreadable: UnreadableText)
        throws(WireError) -> CalendarDate
    {
        let isEmpty = text.map { $0.pointee == 0 } ?? true
        if !isEmpty, let date = CalendarDate(try string(text, field)) { return date }
        guard unreadable == .marked else { throw .unreadable(field: "\(field)") }
        return isEmpty ? Mark.missingDate : Mark.malformedDate
    }

    /// A date that may be left out: nil for absent or empty text.
    public static func optionalDate(_ text: UnsafePointer<CChar>?, _ field: StaticString, _ unreadable: UnreadableText)
        throws(WireError) -> CalendarDate?
    {
        guard let text, text.pointee != 0 else { return nil }
        return try date(text, field, unreadable)
    }

    /// A list of dates.
    public static func dates(
        _ data: UnsafePointer<UnsafeMutablePointer<CChar>?>?,
        count: Int,
        _ field: StaticString,
        _ unreadable: UnreadableText
    ) throws(WireError) -> [CalendarDate] {
        try list(data, count: count) { (text) throws(WireError) in try date(text, field, unreadable) }
    }

    @usableFromInline
    static func halves(_ text: UnsafePointer<CChar>?, _ field: StaticString, _ unreadable: UnreadableText)
        throws(WireError) -> (high: UInt64, low: UInt64)
    {
        if let text, strnlen(text, UUIDText.length + 1) == UUIDText.length {
            let known = text.withMemoryRebound(to: UInt8.self, capacity: UUIDText.length) { UUIDText.parse($0) }
            if let known, known != Mark.missing, known != Mark.malformed { return known }
        }
        guard unreadable == .marked else { throw .unreadable(field: "\(field)") }
        return text.map { $0.pointee == 0 } ?? true ? Mark.missing : Mark.malformed
    }
}

// How generated code writes them.
extension Arena {
    /// An id as text.
    @inlinable
    public func id<Entity>(_ id: ID<Entity>) -> UnsafeMutablePointer<CChar> { uuid(id.high, id.low) }

    @usableFromInline
    func uuid(_ high: UInt64, _ low: UInt64) -> UnsafeMutablePointer<CChar> {
        let memory = take(UUIDText.length + 1)
        UUIDText.write(high: high, low: low, to: UnsafeMutableRawBufferPointer(start: memory, count: UUIDText.length))
        memory.storeBytes(of: 0, toByteOffset: UUIDText.length, as: UInt8.self)
        return memory.assumingMemoryBound(to: CChar.self)
    }

    /// A list of ids.
    @inlinable
    public func ids<Entity>(_ ids: [ID<Entity>]) -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> {
        let copy = allocate(UnsafeMutablePointer<CChar>?.self, count: ids.count)
        for index in ids.indices { copy[index] = id(ids[index]) }
        return copy
    }

    /// A date as text.
    public func date(_ date: CalendarDate) -> UnsafeMutablePointer<CChar> {
        var text = date.description
        return text.withUTF8 { utf8 in
            let memory = take(utf8.count + 1)
            if let start = utf8.baseAddress { memory.copyMemory(from: start, byteCount: utf8.count) }
            memory.storeBytes(of: 0, toByteOffset: utf8.count, as: UInt8.self)
            return memory.assumingMemoryBound(to: CChar.self)
        }
    }

    /// A list of dates.
    public func dates(_ dates: [CalendarDate]) -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> {
        let copy = allocate(UnsafeMutablePointer<CChar>?.self, count: dates.count)
        for index in dates.indices { copy[index] = date(dates[index]) }
        return copy
    }
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
