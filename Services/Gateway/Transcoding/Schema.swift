/// A field, compiled: plain numbers only, so that the hot path copies it without touching a reference count.
struct FieldTable {
    var number: UInt32
    var kind: FieldKind
    var shape: FieldShape
    /// Of a repeated field: all elements in one length-delimited value.
    var packed: Bool
    /// Wire type of one element.
    var wireType: UInt8
    /// Bytes of the tag, and how many there are (1…5).
    var tagLength: UInt8
    var tag: UInt64
    /// Position of the type among the schema's messages or enums; -1 for scalars.
    var typeIndex: Int32
    /// Position among the message's oneofs; -1 when in none.
    var oneof: Int32
    /// Where `,"name":` lies in the pool.
    var keyOffset: Int32
    var keyLength: Int32
    /// An empty text is a mistake: a service would take it for none.
    var refusesEmpty: Bool
}

/// A message, compiled.
struct MessageTable {
    /// Its fields are `firstField ..< firstField + fieldCount`, in declaration order.
    var firstField: Int32
    var fieldCount: Int32
    var oneofCount: Int32
    /// In `indices`: position of a field by its number, -1 for none; `numberCount` entries.
    var byNumber: Int32
    var numberCount: Int32
    /// In `indices`: hash table by name of `nameMask + 1` entries, -1 for free.
    var byName: Int32
    var nameMask: UInt32
}

/// One name of an enum value: where its quoted text lies in the pool.
struct EnumValueTable {
    var number: Int32
    var offset: Int32
    var length: Int32
}

/// An enum, compiled: first one value per number in rising order, then all names in the order of the file.
struct EnumTable {
    var firstValue: Int32
    var valueCount: Int32
    var firstName: Int32
    var nameCount: Int32
}

/// The tables of a schema, as pointers that live as long as the schema does.
struct SchemaTables {
    let fields: UnsafePointer<FieldTable>
    let messages: UnsafePointer<MessageTable>
    let enums: UnsafePointer<EnumTable>
    let enumValues: UnsafePointer<EnumValueTable>
    let indices: UnsafePointer<Int16>
    let pool: UnsafePointer<UInt8>

    /// Position in `fields` of a message's field by number; nil when it has none.
    @inline(__always)
    func field(_ message: MessageTable, number: UInt32) -> Int? {
        if number < UInt32(bitPattern: message.numberCount) {
            let index = indices[Int(message.byNumber) &+ Int(number)]
            return index < 0 ? nil : Int(index)
        }
        return sparseField(message, number: number)
    }

    private func sparseField(_ message: MessageTable, number: UInt32) -> Int? {
        for index in 0..<Int(message.fieldCount) where fields[Int(message.firstField) + index].number == number { return index }
        return nil
    }

    /// Position within the message of the field of this name; nil when it has none.
    @inline(__always)
    func field(_ message: MessageTable, name: UnsafePointer<UInt8>, _ length: Int) -> Int? {
        var slot = Schema.hash(name, length) & message.nameMask
        while true {
            let index = indices[Int(message.byName) &+ Int(slot)]
            if index < 0 { return nil }
            let field = fields[Int(message.firstField) &+ Int(index)]
            if Int(field.keyLength) &- 4 == length {
                let key = pool + Int(field.keyOffset) + 2
                var position = 0
                while position < length, key[position] == name[position] { position &+= 1 }
                if position == length { return Int(index) }
            }
            slot = (slot &+ 1) & message.nameMask
        }
    }

    func name(_ field: FieldTable) -> String {
        let bytes = UnsafeBufferPointer(start: pool + Int(field.keyOffset) + 2, count: Int(field.keyLength) - 4)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The names of a message's fields, in the order of the proto, without those that the caller of a route cannot give.
    func names(_ message: MessageTable, where isOpen: (Int) -> Bool) -> [String] {
        (0..<Int(message.fieldCount)).filter(isOpen).map { name(fields[Int(message.firstField) + $0]) }
    }

    /// The quoted JSON name of an enum's number; nil when the number is unknown.
    @inline(__always)
    func enumName(_ index: Int32, _ number: Int32) -> EnumValueTable? {
        let table = enums[Int(index)]
        let first = Int(table.firstValue)
        // Most enums count up from 0, so the number is the position.
        if number >= 0, number < table.valueCount, enumValues[first &+ Int(number)].number == number {
            return enumValues[first &+ Int(number)]
        }
        var low = 0
        var high = Int(table.valueCount)
        while low < high {
            let middle = (low + high) / 2
            if enumValues[first + middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low < Int(table.valueCount) && enumValues[first + low].number == number ? enumValues[first + low] : nil
    }

    /// The number of an enum's value by its name.
    func enumNumber(_ index: Int32, name: UnsafePointer<UInt8>, _ length: Int) -> Int32? {
        let table = enums[Int(index)]
        for position in Int(table.firstName)..<Int(table.firstName + table.nameCount) {
            let entry = enumValues[position]
            guard Int(entry.length) - 2 == length else { continue }
            let text = pool + Int(entry.offset) + 1
            var same = true
            for byte in 0..<length {
                if name[byte] != text[byte] {
                    same = false
                    break
                }
            }
            if same { return entry.number }
        }
        return nil
    }
}

/// The compiled tables of one descriptor set, in memory of their own.
///
/// `@unchecked Sendable`: the memory is written in `init` only and freed with the last reference to the schema.
final class Schema: @unchecked Sendable {
    let tables: SchemaTables
    private let blocks: [UnsafeMutableRawPointer]

    init(messages: [MessageDescriptor], enums: [EnumDescriptor]) {
        var builder = SchemaBuilder()
        for enumeration in enums { builder.add(enumeration) }
        for message in messages { builder.add(message) }
        var blocks: [UnsafeMutableRawPointer] = []
        func moved<Element>(_ elements: [Element]) -> UnsafePointer<Element> {
            let memory = UnsafeMutablePointer<Element>.allocate(capacity: max(elements.count, 1))
            elements.withUnsafeBufferPointer { buffer in
                if let base = buffer.baseAddress { memory.initialize(from: base, count: buffer.count) }
            }
            blocks.append(UnsafeMutableRawPointer(memory))
            return UnsafePointer(memory)
        }
        self.tables = SchemaTables(
            fields: moved(builder.fields),
            messages: moved(builder.messages),
            enums: moved(builder.enums),
            enumValues: moved(builder.enumValues),
            indices: moved(builder.indices),
            pool: moved(builder.pool)
        )
        self.blocks = blocks
    }

    deinit { for block in blocks { block.deallocate() } }

    @inline(__always)
    static func hash(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> UInt32 {
        var hash: UInt32 = 2_166_136_261
        for index in 0..<count { hash = (hash ^ UInt32(bytes[index])) &* 16_777_619 }
        return hash ^ hash >> 15
    }
}

/// Collects the tables of a schema.
private struct SchemaBuilder {
    var fields: [FieldTable] = []
    var messages: [MessageTable] = []
    var enums: [EnumTable] = []
    var enumValues: [EnumValueTable] = []
    var indices: [Int16] = []
    var pool: [UInt8] = []

    mutating func add(_ enumeration: EnumDescriptor) {
        let names = enumeration.values.map { value in
            let offset = pool.count
            pool += Array("\"\(value.jsonName)\"".utf8)
            return EnumValueTable(number: value.number, offset: Int32(offset), length: Int32(pool.count - offset))
        }
        var seen: Set<Int32> = []
        let values = names.filter { seen.insert($0.number).inserted }.sorted { $0.number < $1.number }
        let first = Int32(enumValues.count)
        enumValues += values + names
        enums.append(
            EnumTable(
                firstValue: first,
                valueCount: Int32(values.count),
                firstName: first + Int32(values.count),
                nameCount: Int32(names.count)
            )
        )
    }

    mutating func add(_ message: MessageDescriptor) {
        let first = fields.count
        for field in message.fields { fields.append(compiled(field)) }
        // A dense table while it stays small; numbers beyond it are searched for.
        let highest = message.fields.map(\.number).max() ?? 0
        let dense = min(Int(highest) + 1, message.fields.count * 4 + 32)
        let byNumber = indices.count
        indices += [Int16](repeating: -1, count: dense)
        var size = 2
        while size < message.fields.count * 2 { size *= 2 }
        let byName = indices.count
        indices += [Int16](repeating: -1, count: size)
        for (index, field) in message.fields.enumerated() {
            if Int(field.number) < dense { indices[byNumber + Int(field.number)] = Int16(index) }
            let name = Array(field.name.utf8)
            var slot = name.withUnsafeBufferPointer { buffer in
                buffer.baseAddress.map { Int(Schema.hash($0, buffer.count)) & (size - 1) } ?? 0
            }
            while indices[byName + slot] >= 0 { slot = (slot + 1) & (size - 1) }
            indices[byName + slot] = Int16(index)
        }
        messages.append(
            MessageTable(
                firstField: Int32(first),
                fieldCount: Int32(message.fields.count),
                oneofCount: Int32(message.oneofs.count),
                byNumber: Int32(byNumber),
                numberCount: Int32(dense),
                byName: Int32(byName),
                nameMask: UInt32(size - 1)
            )
        )
    }

    private mutating func compiled(_ field: FieldDescriptor) -> FieldTable {
        let wireType = field.kind.wireType
        let packable = wireType != 2
        let packed = field.shape == .repeated && packable && field.isPacked ?? true
        var tag: UInt64 = 0
        var length = 0
        var rest = UInt64(field.number) << 3 | UInt64(packed ? 2 : wireType)
        repeat {
            let byte = rest & 0x7F | (rest > 0x7F ? 0x80 : 0)
            tag |= byte << UInt64(8 * length)
            length += 1
            rest >>= 7
        } while rest != 0
        let offset = pool.count
        pool += Array(",\"\(field.name)\":".utf8)
        return FieldTable(
            number: field.number,
            kind: field.kind,
            shape: field.shape,
            packed: packed,
            wireType: wireType,
            tagLength: UInt8(length),
            tag: tag,
            typeIndex: Int32(field.typeIndex),
            oneof: Int32(field.oneof ?? -1),
            keyOffset: Int32(offset),
            keyLength: Int32(pool.count - offset),
            refusesEmpty: field.refusesEmpty
        )
    }
}

extension FieldKind {
    /// Wire type of one value.
    var wireType: UInt8 {
        switch self {
        case .double, .fixed64, .sfixed64: return 1
        case .float, .fixed32, .sfixed32: return 5
        case .string, .bytes, .message, .timestamp: return 2
        default: return 0
        }
    }
}
