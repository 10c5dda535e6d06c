internal import CProtobufC
internal import Glibc
public import Kernel

/// What a number is in Swift. (Not any `BitwiseCopyable`: for an optional property Swift would infer `Optional`, and read a byte too many.)
public protocol WireNumber: BitwiseCopyable {}
extension Int32: WireNumber {}
extension Int64: WireNumber {}
extension UInt32: WireNumber {}
extension UInt64: WireNumber {}
extension Float: WireNumber {}
extension Double: WireNumber {}

/// Reads the words of a message that libprotobuf-c unpacked: how generated code makes Swift values.
///
/// A field is named by its index, its place in the order of the fields' numbers; where it lies only the descriptor says. What is wrong is
/// noted, and a stand-in given back: so a value is read without a branch after each field, and `CMessage` throws the first error at the end.
public struct Reader {
    private let base: UnsafeRawPointer
    private let fields: UnsafeRawPointer
    private let state: UnsafeMutableRawPointer

    init(_ base: UnsafeRawPointer, _ arena: Arena) {
        self.base = base
        let descriptor = base.load(as: UnsafePointer<ProtobufCMessageDescriptor>.self)
        // A message without fields is not asked for any.
        fields = UnsafeRawPointer(descriptor.pointee.fields) ?? base
        state = UnsafeMutableRawPointer(arena.state)
    }

    // MARK: Where fields lie

    private var arena: Arena { Arena(state: state.assumingMemoryBound(to: Arena.State.self)) }

    private func field(_ index: Int) -> UnsafePointer<ProtobufCFieldDescriptor> {
        fields.assumingMemoryBound(to: ProtobufCFieldDescriptor.self) + index
    }

    /// Where the value of a field lies.
    @usableFromInline
    func word(_ index: Int) -> UnsafeRawPointer { base + Int(field(index).pointee.offset) }

    private func text(_ index: Int) -> UnsafePointer<CChar>? { word(index).load(as: UnsafePointer<CChar>?.self) }

    /// How many elements a repeated field has, and where they lie.
    @usableFromInline
    func elements(_ index: Int) -> (count: Int, start: UnsafeRawPointer?) {
        let word = word(index)
        return ((word - 8).load(as: Int.self), word.load(as: UnsafeRawPointer?.self))
    }

    private func fail(_ problem: Arena.Failure.Problem, _ index: Int) { arena.fail(problem, field(index)) }

    /// What stands for an id or a date that cannot be read. Without one it is a failure, too.
    private func standIn(_ index: Int) -> StandIn {
        switch arena.state.pointee.mode {
        case .refused(let standIn): return standIn
        case .marking: return .mark
        case .strict, .comparing:
            fail(.unreadable, index)
            return .mark
        }
    }

    // MARK: Values

    /// The number of the member that is set, of the oneof that the field belongs to; 0 for none.
    public func member(_ index: Int) -> UInt32 { (word(index) - 8).load(as: UInt32.self) }

    /// A number.
    @inlinable
    public func number<Number: WireNumber>(_ index: Int) -> Number { word(index).load(as: Number.self) }

    /// A number; nil when it is not set.
    @inlinable
    public func optionalNumber<Number: WireNumber>(_ index: Int) -> Number? { member(index) == 0 ? nil : number(index) }

    /// A bool.
    public func flag(_ index: Int) -> Bool { word(index).load(as: Int32.self) != 0 }

    /// A bool; nil when it is not set.
    public func optionalFlag(_ index: Int) -> Bool? { member(index) == 0 ? nil : flag(index) }

    /// A value of an enum.
    @inlinable
    public func enumeration<Value: OpenEnum>(_ index: Int) -> Value { Value(rawValue: number(index)) }

    /// A value of an enum; nil when it is not set.
    @inlinable
    public func optionalEnumeration<Value: OpenEnum>(_ index: Int) -> Value? { member(index) == 0 ? nil : enumeration(index) }

    /// A text. `WireCheck` has made sure that it ends where C says it does.
    public func string(_ index: Int) -> String { string(text(index), index) }

    /// A text; nil when it is not set.
    public func optionalString(_ index: Int) -> String? { member(index) == 0 ? nil : string(index) }

    private func string(_ text: UnsafePointer<CChar>?, _ index: Int) -> String {
        guard let text, text.pointee != 0 else { return "" }
        if let string = String(validatingCString: text) { return string }
        fail(.invalidUTF8, index)
        return ""
    }

    /// Bytes.
    public func bytes(_ index: Int) -> [UInt8] { Self.bytes(word(index).load(as: ProtobufCBinaryData.self)) }

    /// Bytes; nil when they are not set.
    public func optionalBytes(_ index: Int) -> [UInt8]? { member(index) == 0 ? nil : bytes(index) }

    private static func bytes(_ data: ProtobufCBinaryData) -> [UInt8] {
        [UInt8](UnsafeBufferPointer(start: data.data, count: data.data == nil ? 0 : data.len))
    }

    /// An id that must be there; a text that is none is a failure or becomes a `Mark`.
    @inlinable
    public func id<Entity>(_ index: Int) -> ID<Entity> {
        let (high, low) = uuid(index)
        return ID(high: high, low: low)
    }

    /// An id that may be left out: nil for absent or empty text.
    @inlinable
    public func optionalID<Entity>(_ index: Int) -> ID<Entity>? { isEmpty(index) ? nil : id(index) }

    /// A date that must be there.
    public func date(_ index: Int) -> CalendarDate { date(text(index), index) }

    /// A date that may be left out: nil for absent or empty text.
    public func optionalDate(_ index: Int) -> CalendarDate? { isEmpty(index) ? nil : date(index) }

    @usableFromInline
    func isEmpty(_ index: Int) -> Bool { Self.isEmpty(text(index)) }

    private static func isEmpty(_ text: UnsafePointer<CChar>?) -> Bool { text.map { $0.pointee == 0 } ?? true }

    private func date(_ text: UnsafePointer<CChar>?, _ index: Int) -> CalendarDate {
        let isEmpty = Self.isEmpty(text)
        if !isEmpty, let date = CalendarDate(string(text, index)) { return date }
        switch standIn(index) {
        case .mark: return isEmpty ? Mark.missingDate : Mark.malformedDate
        case .lowest: return TimestampRange.dates.lowerBound
        case .highest: return TimestampRange.dates.upperBound
        }
    }

    @usableFromInline
    func uuid(_ index: Int) -> (high: UInt64, low: UInt64) { uuid(text(index), index) }

    private func uuid(_ text: UnsafePointer<CChar>?, _ index: Int) -> (high: UInt64, low: UInt64) {
        if let text, strnlen(text, UUIDText.length + 1) == UUIDText.length {
            let known = text.withMemoryRebound(to: UInt8.self, capacity: UUIDText.length) { UUIDText.parse($0) }
            if let known, known != Mark.missing, known != Mark.malformed { return known }
        }
        switch standIn(index) {
        case .mark: return Self.isEmpty(text) ? Mark.missing : Mark.malformed
        case .lowest: return (0, 0)
        case .highest: return (.max, .max)
        }
    }

    /// A `google.protobuf.Timestamp`, of which what is below a microsecond is cut off; nil when it is not set.
    public func instant(_ index: Int) -> Instant? { instant(word(index).load(as: UnsafeRawPointer?.self), index) }

    private func instant(_ stored: UnsafeRawPointer?, _ index: Int) -> Instant? {
        guard let stored else { return nil }
        let reader = Reader(stored, arena)
        let (seconds, nanos): (Int64, Int32) = (reader.number(0), reader.number(1))
        guard TimestampRange.seconds.contains(seconds), (0...999_999_999).contains(nanos) else {
            return unreadableInstant(index)
        }
        return Instant(microseconds: seconds * 1_000_000 + Int64(nanos / 1_000))
    }

    private func unreadableInstant(_ index: Int) -> Instant? {
        guard case .refused(let standIn) = arena.state.pointee.mode else {
            fail(.timestampOutOfRange, index)
            return nil
        }
        return switch standIn {
        case .mark: .epoch
        case .lowest: Instant(microseconds: TimestampRange.seconds.lowerBound * 1_000_000)
        case .highest: Instant(microseconds: TimestampRange.seconds.upperBound * 1_000_000)
        }
    }

    /// A message; nil when it is not set.
    @inlinable
    public func message<Value: CMessage>(_ index: Int) -> Value? { child(index).map { Value($0) } }

    @usableFromInline
    func child(_ index: Int) -> Reader? { word(index).load(as: UnsafeRawPointer?.self).map { Reader($0, arena) } }

    /// A message that must be there, because it has no value that means unset.
    @inlinable
    public func present<Value: CMessage>(_ index: Int) -> Value { Value(child(index) ?? missing(index)) }

    @usableFromInline
    func missing(_ index: Int) -> Reader {
        fail(.malformed, index)
        let type = field(index).pointee.descriptor.assumingMemoryBound(to: ProtobufCMessageDescriptor.self)
        return Reader(arena.zeroed(type), arena)
    }

    // MARK: Repeated fields

    /// A repeated number.
    @inlinable
    public func numbers<Number: WireNumber>(_ index: Int) -> [Number] {
        let (count, start) = elements(index)
        return [Number](UnsafeBufferPointer(start: start?.assumingMemoryBound(to: Number.self), count: start == nil ? 0 : count))
    }

    @inlinable
    func list<Element, Value>(_ index: Int, _ transform: (Element) -> Value) -> [Value] {
        let (count, start) = elements(index)
        guard let start else { return [] }
        let elements = start.assumingMemoryBound(to: Element.self)
        return [Value](unsafeUninitializedCapacity: count) { values, initialized in
            for index in 0..<count { values.initializeElement(at: index, to: transform(elements[index])) }
            initialized = count
        }
    }

    /// A repeated bool.
    public func flags(_ index: Int) -> [Bool] { list(index) { (flag: Int32) in flag != 0 } }

    /// A repeated enum.
    @inlinable
    public func enumerations<Value: OpenEnum>(_ index: Int) -> [Value] { list(index) { Value(rawValue: $0) } }

    /// A repeated text.
    public func strings(_ index: Int) -> [String] { list(index) { string($0, index) } }

    /// Repeated bytes.
    public func bytesList(_ index: Int) -> [[UInt8]] { list(index) { Self.bytes($0) } }

    /// A repeated id.
    @inlinable
    public func ids<Entity>(_ index: Int) -> [ID<Entity>] {
        list(index) { (text: UnsafeRawPointer?) in
            let (high, low) = uuid(at: text, index)
            return ID(high: high, low: low)
        }
    }

    @usableFromInline
    func uuid(at text: UnsafeRawPointer?, _ index: Int) -> (high: UInt64, low: UInt64) {
        uuid(text?.assumingMemoryBound(to: CChar.self), index)
    }

    /// A repeated date.
    public func dates(_ index: Int) -> [CalendarDate] { list(index) { date($0, index) } }

    /// A repeated timestamp.
    public func instants(_ index: Int) -> [Instant] { list(index) { instant($0, index) ?? .epoch } }

    /// A repeated message.
    @inlinable
    public func messages<Value: CMessage>(_ index: Int) -> [Value] { list(index) { Value(element($0)) } }

    @usableFromInline
    func element(_ stored: UnsafeRawPointer) -> Reader { Reader(stored, arena) }

    /// A map; `entry` reads the key at index 0 and the value at index 1.
    @inlinable
    public func map<Key: Hashable, Value>(_ index: Int, _ entry: (Reader) -> (Key, Value)) -> [Key: Value] {
        let (count, start) = elements(index)
        guard let entries = start?.assumingMemoryBound(to: UnsafeRawPointer.self) else { return [:] }
        var values: [Key: Value] = [:]
        for index in 0..<count {
            let (key, value) = entry(element(entries[index]))
            values[key] = value
        }
        return values
    }
}

/// What `google.protobuf.Timestamp` allows: 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999999999Z.
enum TimestampRange {
    static let seconds: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

    static let dates =
        CalendarDate(dayNumber: Int32(seconds.lowerBound / 86_400))...CalendarDate(dayNumber: Int32(seconds.upperBound / 86_400))
}
