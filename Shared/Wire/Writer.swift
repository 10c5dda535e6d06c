internal import CProtobufC
internal import Glibc
public import Kernel

/// Fills the words of a message for libprotobuf-c to pack: how generated code gives Swift values away.
///
/// Fields are named as `Reader` does. What the words point to lies in the arena. A value that cannot be written is noted there, and
/// `CMessage` throws.
public struct Writer {
    let base: UnsafeMutableRawPointer
    private let fields: UnsafeRawPointer
    private let state: UnsafeMutableRawPointer

    /// An empty message.
    init(_ arena: Arena, _ descriptor: UnsafePointer<ProtobufCMessageDescriptor>) {
        base = arena.zeroed(descriptor)
        fields = UnsafeRawPointer(descriptor.pointee.fields) ?? UnsafeRawPointer(descriptor)
        state = UnsafeMutableRawPointer(arena.state)
    }

    // MARK: Where fields lie

    private var arena: Arena { Arena(state: state.assumingMemoryBound(to: Arena.State.self)) }

    private func field(_ index: Int) -> UnsafePointer<ProtobufCFieldDescriptor> {
        fields.assumingMemoryBound(to: ProtobufCFieldDescriptor.self) + index
    }

    /// Where the value of a field goes. A field with presence, or of a oneof, is noted to be set.
    @usableFromInline
    func word(_ index: Int) -> UnsafeMutableRawPointer {
        let field = field(index)
        let word = base + Int(field.pointee.offset)
        if field.pointee.flags & PROTOBUF_C_FIELD_FLAG_ONEOF.rawValue != 0 {
            (word - 8).storeBytes(of: field.pointee.id, as: UInt32.self)
        }
        return word
    }

    private func point(_ index: Int, to value: UnsafeMutableRawPointer) {
        word(index).storeBytes(of: value, as: UnsafeMutableRawPointer.self)
    }

    /// Room for the elements of a repeated field.
    @usableFromInline
    func elements(_ index: Int, _ count: Int, stride: Int) -> UnsafeMutableRawPointer {
        let room = arena.take(stride * count)
        let word = word(index)
        (word - 8).storeBytes(of: count, as: Int.self)
        word.storeBytes(of: room, as: UnsafeMutableRawPointer.self)
        return room
    }

    // MARK: Values

    /// A number.
    @inlinable
    public func number(_ index: Int, _ value: some WireNumber) { word(index).storeBytes(of: value, as: type(of: value)) }

    /// A number with presence.
    @inlinable
    public func optionalNumber(_ index: Int, _ value: (some WireNumber)?) { if let value { number(index, value) } }

    /// A bool.
    public func flag(_ index: Int, _ value: Bool) { word(index).storeBytes(of: value ? 1 : 0, as: Int32.self) }

    /// A bool with presence.
    public func optionalFlag(_ index: Int, _ value: Bool?) { if let value { flag(index, value) } }

    /// A value of an enum.
    @inlinable
    public func enumeration(_ index: Int, _ value: some OpenEnum) { number(index, value.rawValue) }

    /// A value of an enum with presence.
    @inlinable
    public func optionalEnumeration(_ index: Int, _ value: (some OpenEnum)?) {
        if let value { enumeration(index, value) }
    }

    /// A text.
    public func string(_ index: Int, _ text: String) { point(index, to: copy(text, index)) }

    /// A text with presence.
    public func optionalString(_ index: Int, _ text: String?) { if let text { string(index, text) } }

    /// Bytes.
    public func bytes(_ index: Int, _ bytes: [UInt8]) {
        word(index).storeBytes(of: data(bytes), as: ProtobufCBinaryData.self)
    }

    /// Bytes with presence.
    public func optionalBytes(_ index: Int, _ bytes: [UInt8]?) { if let bytes { self.bytes(index, bytes) } }

    /// An id.
    @inlinable
    public func id<Entity>(_ index: Int, _ id: ID<Entity>) { uuid(index, id.high, id.low) }

    /// An id that may be left out.
    @inlinable
    public func optionalID<Entity>(_ index: Int, _ id: ID<Entity>?) { if let id { self.id(index, id) } }

    @usableFromInline
    func uuid(_ index: Int, _ high: UInt64, _ low: UInt64) { point(index, to: text(high, low)) }

    /// A date.
    public func date(_ index: Int, _ date: CalendarDate) { point(index, to: text(date)) }

    /// A date that may be left out.
    public func optionalDate(_ index: Int, _ date: CalendarDate?) { if let date { self.date(index, date) } }

    /// A `google.protobuf.Timestamp`.
    public func instant(_ index: Int, _ instant: Instant?) { if let instant { timestamp(child(index), instant, index) } }

    /// A message.
    @inlinable
    public func message(_ index: Int, _ value: (some CMessage)?) { value?.write(child(index)) }

    @usableFromInline
    func child(_ index: Int) -> Writer { child(index, at: word(index)) }

    /// An empty message of the field's type, to which the word at `place` points.
    @usableFromInline
    func child(_ index: Int, at place: UnsafeMutableRawPointer) -> Writer {
        let type = field(index).pointee.descriptor.assumingMemoryBound(to: ProtobufCMessageDescriptor.self)
        let child = Writer(arena, type)
        place.storeBytes(of: child.base, as: UnsafeMutableRawPointer.self)
        return child
    }

    // MARK: Repeated fields

    /// A repeated number.
    @inlinable
    public func numbers<Number: WireNumber>(_ index: Int, _ numbers: [Number]) { list(index, numbers) { $0 } }

    @inlinable
    func list<Value, Element>(_ index: Int, _ values: [Value], _ transform: (Value) -> Element) {
        guard !values.isEmpty else { return }
        var next = elements(index, values.count, stride: MemoryLayout<Element>.stride).assumingMemoryBound(to: Element.self)
        for value in values {
            next.initialize(to: transform(value))
            next += 1
        }
    }

    /// A repeated bool.
    public func flags(_ index: Int, _ flags: [Bool]) { list(index, flags) { $0 ? 1 as Int32 : 0 } }

    /// A repeated enum.
    @inlinable
    public func enumerations<Value: OpenEnum>(_ index: Int, _ values: [Value]) { list(index, values) { $0.rawValue } }

    /// A repeated text.
    public func strings(_ index: Int, _ texts: [String]) { list(index, texts) { copy($0, index) } }

    /// Repeated bytes.
    public func bytesList(_ index: Int, _ list: [[UInt8]]) { self.list(index, list) { data($0) } }

    /// A repeated id.
    @inlinable
    public func ids<Entity>(_ index: Int, _ ids: [ID<Entity>]) { list(index, ids) { text($0.high, $0.low) } }

    /// A repeated date.
    public func dates(_ index: Int, _ dates: [CalendarDate]) { list(index, dates) { text($0) } }

    /// A repeated timestamp.
    public func instants(_ index: Int, _ instants: [Instant]) {
        messages(index, instants) { writer, instant in timestamp(writer, instant, index) }
    }

    /// A repeated message.
    @inlinable
    public func messages<Value: CMessage>(_ index: Int, _ values: [Value]) {
        messages(index, values) { writer, value in value.write(writer) }
    }

    @inlinable
    func messages<Values: Collection>(_ index: Int, _ values: Values, _ write: (Writer, Values.Element) -> Void) {
        guard !values.isEmpty else { return }
        let stride = MemoryLayout<UnsafeMutableRawPointer>.stride
        var next = elements(index, values.count, stride: stride)
        for value in values {
            write(child(index, at: next), value)
            next += stride
        }
    }

    /// A map in the order of its keys, so that equal messages have equal bytes (idempotency compares hashes of requests, D12). `entry`
    /// writes the key at index 0 and the value at index 1.
    @inlinable
    public func map<Key: Comparable, Value>(_ index: Int, _ values: [Key: Value], _ entry: (Writer, Key, Value) -> Void) {
        messages(index, values.sorted { $0.key < $1.key }) { writer, pair in entry(writer, pair.key, pair.value) }
    }

    /// A map with two keys.
    @inlinable
    public func map<Value>(_ index: Int, _ values: [Bool: Value], _ entry: (Writer, Bool, Value) -> Void) {
        messages(index, values.sorted { !$0.key && $1.key }) { writer, pair in entry(writer, pair.key, pair.value) }
    }

    // MARK: What words point to

    private func copy(_ text: String, _ index: Int) -> UnsafeMutableRawPointer {
        // One without presence that is empty libprotobuf-c leaves out.
        if text.isEmpty { return UnsafeMutableRawPointer(mutating: ("" as StaticString).utf8Start) }
        var text = text
        return text.withUTF8 { utf8 in
            guard let start = utf8.baseAddress, memchr(start, 0, utf8.count) != nil else { return copy(utf8) }
            guard arena.state.pointee.mode == .comparing else {
                arena.fail(.nulInString, field(index))
                return copy(UnsafeBufferPointer(rebasing: utf8.prefix(0)))
            }
            // As in Java's modified UTF-8: no text has these bytes.
            return utf8.flatMap { $0 == 0 ? [0xC0, 0x80] : [$0] }.withUnsafeBufferPointer { copy($0) }
        }
    }

    private func copy(_ utf8: UnsafeBufferPointer<UInt8>) -> UnsafeMutableRawPointer {
        let memory = arena.take(utf8.count + 1)
        if let start = utf8.baseAddress { memory.copyMemory(from: start, byteCount: utf8.count) }
        memory.storeBytes(of: 0, toByteOffset: utf8.count, as: UInt8.self)
        return memory
    }

    private func data(_ bytes: [UInt8]) -> ProtobufCBinaryData {
        if bytes.isEmpty { return ProtobufCBinaryData(len: 0, data: nil) }
        let copy = arena.take(bytes.count)
        bytes.withUnsafeBytes { if let start = $0.baseAddress { copy.copyMemory(from: start, byteCount: $0.count) } }
        return ProtobufCBinaryData(len: bytes.count, data: copy.assumingMemoryBound(to: UInt8.self))
    }

    @usableFromInline
    func text(_ high: UInt64, _ low: UInt64) -> UnsafeMutableRawPointer {
        let memory = arena.take(UUIDText.length + 1)
        UUIDText.write(high: high, low: low, to: UnsafeMutableRawBufferPointer(start: memory, count: UUIDText.length))
        memory.storeBytes(of: 0, toByteOffset: UUIDText.length, as: UInt8.self)
        return memory
    }

    private func text(_ date: CalendarDate) -> UnsafeMutableRawPointer {
        var text = date.description
        return text.withUTF8 { copy($0) }
    }

    private func timestamp(_ writer: Writer, _ instant: Instant, _ index: Int) {
        let seconds = instant.seconds
        if !TimestampRange.seconds.contains(seconds) { arena.fail(.timestampOutOfRange, field(index)) }
        writer.number(0, seconds)
        writer.number(1, Int32(instant.microseconds - seconds * 1_000_000) * 1_000)
    }
}
