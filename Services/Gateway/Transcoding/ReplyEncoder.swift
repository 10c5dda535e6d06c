/// Turns protobuf wire bytes into JSON.
///
/// A message is gone over twice: once to note where each field lies (`slots`, one per declared field), then in declaration order to
/// write it. Submessages are stepped over by their length in the first pass, so the cost stays linear however deep they nest.
struct ReplyEncoder: ~Copyable {
    static let maximumDepth = 64

    var out: ByteWriter
    private let tables: SchemaTables
    private var slots: UnsafeMutablePointer<Slot>
    private var slotCapacity: Int
    private var slotTop = 0
    private var depth = 0

    /// Where a field's values lie.
    struct Slot {
        /// Position of the tag of the first value; -1 when there is none.
        var first: Int32 = -1
        /// Position of the last value.
        var last: Int32 = -1
        /// How many fields with this number were seen.
        var count: Int32 = 0
    }

    /// A message after its first pass; `base` is the position of its slots, which stay on the stack until `close`.
    struct Opened {
        let message: MessageTable
        let cursor: WireCursor
        let base: Int
    }

    init(tables: SchemaTables, capacity: Int) {
        self.tables = tables
        self.out = ByteWriter(capacity: capacity)
        self.slotCapacity = 128
        self.slots = .allocate(capacity: 128)
    }

    deinit { slots.deallocate() }

    /// The quoted name of an enum's value; nil when the number is unknown.
    @inline(__always)
    func enumName(_ field: FieldTable, _ number: Int32) -> UnsafeBufferPointer<UInt8>? {
        tables.enumName(field.typeIndex, number).map { entry in
            UnsafeBufferPointer(start: tables.pool + Int(entry.offset), count: Int(entry.length))
        }
    }

    // MARK: Messages

    mutating func message(_ index: Int32, _ cursor: WireCursor) throws(WireProblem) {
        let opened = try open(index, cursor)
        let fields = Int(opened.message.fieldCount)
        out.append(UInt8(ascii: "{"))
        if fields > 0 {
            try field(0, of: opened, skippingComma: 1)
            for index in 1..<max(fields, 1) { try field(index, of: opened, skippingComma: 0) }
        }
        out.append(UInt8(ascii: "}"))
        close(opened)
    }

    /// First pass over a message.
    mutating func open(_ index: Int32, _ cursor: WireCursor) throws(WireProblem) -> Opened {
        let message = tables.messages[Int(index)]
        depth &+= 1
        guard depth <= Self.maximumDepth else { throw .tooDeep }
        let base = slotTop
        let size = Int(message.fieldCount) &+ Int(message.oneofCount)
        slotTop &+= size
        if slotTop > slotCapacity { growSlots() }
        let slots = slots + base
        slots.initialize(repeating: Slot(), count: size)
        var scan = cursor
        while scan.position < scan.end {
            let tagStart = scan.position
            let tag = try scan.tag()
            let wireType = tag & 7
            guard let position = tables.field(message, number: tag >> 3) else {
                try scan.skip(wireType: wireType)
                continue
            }
            let start = scan.position
            try scan.skip(wireType: wireType)
            let field = tables.fields[Int(message.firstField) &+ position]
            // Another wire type is another release's idea of the field: unknown, except that packed and unpacked are the same.
            guard wireType == UInt32(field.wireType) || (wireType == 2 && field.shape == .repeated) else { continue }
            if slots[position].count == 0 { slots[position].first = Int32(truncatingIfNeeded: tagStart) }
            slots[position].last = Int32(truncatingIfNeeded: start)
            slots[position].count &+= 1
            if field.oneof >= 0 {
                // The last member on the wire is the one that is set.
                let state = Int(message.fieldCount) &+ Int(field.oneof)
                let previous = Int(slots[state].first)
                if previous >= 0, previous != position { slots[previous] = Slot() }
                slots[state].first = Int32(truncatingIfNeeded: position)
            }
        }
        return Opened(message: message, cursor: cursor, base: base)
    }

    mutating func close(_ opened: Opened) {
        slotTop = opened.base
        depth &-= 1
    }

    private mutating func growSlots() {
        let larger = max(slotCapacity * 2, slotTop)
        let fresh = UnsafeMutablePointer<Slot>.allocate(capacity: larger)
        fresh.initialize(from: slots, count: slotCapacity)
        slots.deallocate()
        slots = fresh
        slotCapacity = larger
    }

    /// Writes `,"name":value`, or without the comma.
    @inline(__always)
    mutating func field(_ index: Int, of opened: Opened, skippingComma: Int) throws(WireProblem) {
        let field = tables.fields[Int(opened.message.firstField) &+ index]
        out.append(tables.pool + Int(field.keyOffset) + skippingComma, Int(field.keyLength) &- skippingComma)
        try fieldValue(index, field, of: opened)
    }

    func field(_ index: Int, of opened: Opened) -> FieldTable { tables.fields[Int(opened.message.firstField) &+ index] }

    mutating func fieldValue(_ index: Int, _ field: FieldTable, of opened: Opened) throws(WireProblem) {
        let slot = slots[opened.base &+ index]
        switch field.shape {
        case .scalar, .optional:
            if slot.count == 0 {
                if field.shape == .optional { out.append("null") } else { defaultValue(field) }
            } else if slot.count > 1, field.kind == .message || field.kind == .timestamp {
                try merged(field, slot, opened)
            } else {
                var cursor = opened.cursor
                cursor.position = Int(slot.last)
                try value(field, &cursor)
            }
        case .repeated:
            out.append(UInt8(ascii: "["))
            if slot.count > 0 { try elements(field, slot, opened) }
            out.append(UInt8(ascii: "]"))
        case .map:
            if slot.count == 0 { out.append("{}") } else { try map(field, slot, opened) }
        }
    }

    /// A submessage that was sent in parts: the parts one after the other are the whole (protobuf's merge rule).
    private mutating func merged(_ field: FieldTable, _ slot: Slot, _ opened: Opened) throws(WireProblem) {
        var bytes: [UInt8] = []
        for part in try parts(of: field, slot, opened) {
            bytes.append(contentsOf: UnsafeBufferPointer(start: part.base + part.position, count: part.count))
        }
        if bytes.isEmpty { return try empty(field) }
        let problem: WireProblem? = bytes.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return nil }
            do throws(WireProblem) {
                let whole = WireCursor(base: base, position: 0, end: buffer.count)
                if field.kind == .timestamp {
                    try WireTimestamp(wire: whole).writeText(to: &out)
                } else {
                    try message(field.typeIndex, whole)
                }
                return nil
            } catch { return error }
        }
        if let problem { throw problem }
    }

    mutating func empty(_ field: FieldTable) throws(WireProblem) {
        let nothing = WireCursor(base: tables.pool, position: 0, end: 0)
        if field.kind == .timestamp {
            try WireTimestamp(wire: nothing).writeText(to: &out)
        } else {
            try message(field.typeIndex, nothing)
        }
    }

    /// The contents of all values of a length-delimited field, in wire order.
    private func parts(of field: FieldTable, _ slot: Slot, _ opened: Opened) throws(WireProblem) -> [WireCursor] {
        var parts: [WireCursor] = []
        parts.reserveCapacity(Int(slot.count))
        var cursor = opened.cursor
        cursor.position = Int(slot.first)
        while cursor.position <= Int(slot.last) {
            try step(&cursor, to: field)
            let length = try cursor.length()
            parts.append(WireCursor(base: cursor.base, position: cursor.position, end: cursor.position + length))
            cursor.position += length
        }
        return parts
    }

    /// Moves to the next value of `field` that `open` noted; there is one. Returns its wire type.
    @discardableResult
    private func step(_ cursor: inout WireCursor, to field: FieldTable) throws(WireProblem) -> UInt32 {
        while true {
            let tag = try cursor.tag()
            let wireType = tag & 7
            if tag >> 3 == field.number, wireType == UInt32(field.wireType) || wireType == 2 { return wireType }
            try cursor.skip(wireType: wireType)
        }
    }

    private mutating func elements(_ field: FieldTable, _ slot: Slot, _ opened: Opened) throws(WireProblem) {
        var cursor = opened.cursor
        cursor.position = Int(slot.first)
        var separator = false
        while cursor.position <= Int(slot.last) {
            let wireType = try step(&cursor, to: field)
            if wireType == 2 && field.wireType != 2 {
                let length = try cursor.length()
                var packed = WireCursor(base: cursor.base, position: cursor.position, end: cursor.position &+ length)
                cursor.position &+= length
                while packed.position < packed.end {
                    if separator { out.append(UInt8(ascii: ",")) }
                    separator = true
                    try value(field, &packed)
                }
            } else {
                if separator { out.append(UInt8(ascii: ",")) }
                separator = true
                try value(field, &cursor)
            }
        }
    }

    private mutating func map(_ field: FieldTable, _ slot: Slot, _ opened: Opened) throws(WireProblem) {
        // A key may come twice on the wire and the last one counts, so keys are rendered first and sorted out.
        let keyField = Int(tables.messages[Int(field.typeIndex)].firstField)
        let quoted = tables.fields[keyField].kind == .string
        var entries: [(key: [UInt8], cursor: WireCursor)] = []
        var positions: [[UInt8]: Int] = [:]
        for entry in try parts(of: field, slot, opened) {
            let inner = try open(field.typeIndex, entry)
            let mark = out.count
            if !quoted { out.append(UInt8(ascii: "\"")) }
            try fieldValue(0, tables.fields[keyField], of: inner)
            if !quoted { out.append(UInt8(ascii: "\"")) }
            let key = [UInt8](UnsafeBufferPointer(start: out.base + mark, count: out.count - mark))
            out.count = mark
            close(inner)
            if let known = positions[key] {
                entries[known].cursor = entry
            } else {
                positions[key] = entries.count
                entries.append((key, entry))
            }
        }
        out.append(UInt8(ascii: "{"))
        for (index, entry) in entries.enumerated() {
            if index > 0 { out.append(UInt8(ascii: ",")) }
            out.append(entry.key)
            out.append(UInt8(ascii: ":"))
            let inner = try open(field.typeIndex, entry.cursor)
            let valueField = tables.fields[keyField + 1]
            if slots[inner.base + 1].count == 0 && valueField.shape == .optional && valueField.kind == .message {
                try empty(valueField)
            } else {
                try fieldValue(1, valueField, of: inner)
            }
            close(inner)
        }
        out.append(UInt8(ascii: "}"))
    }
}
