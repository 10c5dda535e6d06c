internal import Wire

/// A message of descriptor.proto or plugin.proto: its fields by number, read without code of its own.
struct ProtoBytes {
    private var fields: [Int: [WireFields.Value]] = [:]

    /// - Throws: `GeneratorError` for bytes that are no message.
    init(_ bytes: ArraySlice<UInt8>) throws {
        var rest = WireFields(bytes)
        do {
            while let field = try rest.next() { fields[field.number, default: []].append(field.value) }
        } catch { throw GeneratorError("the input is not what protoc sends") }
    }

    /// Every value of a field with a length: texts, bytes, messages, packed numbers.
    func all(_ number: Int) -> [ArraySlice<UInt8>] {
        (fields[number] ?? []).compactMap { value in
            if case .bytes(let bytes) = value { return bytes }
            return nil
        }
    }

    func texts(_ number: Int) -> [String] { all(number).map { String(decoding: $0, as: UTF8.self) } }

    /// Empty when it is not set.
    func text(_ number: Int) -> String { texts(number).last ?? "" }

    /// nil when it is not set.
    func bytes(_ number: Int) -> [UInt8]? { all(number).last.map { Array($0) } }

    func messages(_ number: Int) throws -> [ProtoBytes] { try all(number).map { try ProtoBytes($0) } }

    func message(_ number: Int) throws -> ProtoBytes? { try messages(number).last }

    /// nil when it is not set.
    func number(_ number: Int) -> Int64? {
        if case .varint(let value)? = fields[number]?.last { return Int64(bitPattern: value) }
        return nil
    }

    func flag(_ number: Int) -> Bool { self.number(number) == 1 }
}
