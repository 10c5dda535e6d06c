internal import Kernel

/// Turns one request into protobuf in a single pass over the JSON: every value is written where it belongs as it is read.
///
/// Semantic problems are collected with their paths, and the value is stepped over: a stand-in keeps its place. A syntax problem ends the
/// pass.
struct RequestEncoder: ~Copyable {
    /// Most problems reported at once.
    static let maximumDetails = 50
    /// What is wrong with an empty text where there is a form.
    static let emptyText = "must not be empty; leave it out instead"

    var scanner: JSONScanner
    var values: ValueWriter
    var details: [ServiceError.Detail] = []
    /// Whether the body was read to its end, and is what a body is.
    private(set) var isWhole = true
    /// Fields of the request that are files, which JSON does not have.
    var files: [Int] = []
    private let tables: SchemaTables
    /// Which fields, and then which oneofs, were seen: one bitset per open message, on a stack.
    private var seen: ContiguousArray<UInt64> = []
    /// The path to the value that is being read: at most two parts for each level of depth.
    private let path: UnsafeMutablePointer<PathPart>
    private var pathCount = 0

    /// Where in the request a value lies.
    enum PathPart {
        case field(Int)
        case index(Int)
        /// Raw text of a map key in the input.
        case key(Int, Int)
    }

    init(tables: SchemaTables, body: UnsafeBufferPointer<UInt8>, standIns: ValueWriter.StandIns = .zeros) {
        self.tables = tables
        // The scanner never reads when the count is 0, so any pointer does for an empty body.
        self.scanner = JSONScanner(base: body.baseAddress ?? tables.pool, count: body.count)
        self.values = ValueWriter(tables: tables, capacity: body.count + 64, standIns: standIns)
        self.path = .allocate(capacity: 2 * JSONScanner.maximumDepth + 8)
        seen.reserveCapacity(16)
    }

    deinit { path.deallocate() }

    @inline(__always)
    private mutating func push(_ part: PathPart) {
        path[pathCount] = part
        pathCount &+= 1
    }

    /// Reads the body into a message; `taken` says which of its fields come from elsewhere.
    mutating func root(message: Int, taken: [Int]) {
        withSyntaxErrors { encoder throws(SyntaxProblem) in
            if encoder.scanner.peek() == 0 { return }
            guard encoder.scanner.peek() == UInt8(ascii: "{") else {
                try encoder.scanner.skipValue()
                try encoder.finish()
                encoder.isWhole = false
                return encoder.report("", "must be a JSON object")
            }
            try encoder.object(message, taken: taken)
            try encoder.finish()
        }
    }

    /// Reads the body into one field of a message.
    mutating func root(field index: Int) {
        withSyntaxErrors { encoder throws(SyntaxProblem) in
            if encoder.scanner.peek() == 0 { return }
            encoder.push(.field(index))
            if encoder.scanner.peek() == UInt8(ascii: "n") {
                try encoder.scanner.literal("null")
            } else {
                try encoder.field(encoder.tables.fields[index])
            }
            try encoder.finish()
        }
    }

    private mutating func withSyntaxErrors(_ body: (inout RequestEncoder) throws(SyntaxProblem) -> Void) {
        do throws(SyntaxProblem) {
            try body(&self)
        } catch {
            let hint = scanner.hint(at: error.offset).map { ": \($0)" } ?? ""
            details = [.init(field: "", message: "The body \(error.message) (at byte \(error.offset))\(hint).")]
            isWhole = false
        }
    }

    private mutating func finish() throws(SyntaxProblem) {
        guard scanner.peek() == 0 else {
            throw SyntaxProblem(offset: scanner.position, message: "is not valid JSON: something follows the value")
        }
    }

    // MARK: Problems

    mutating func report(_ field: String, _ message: String) {
        if details.count < Self.maximumDetails { details.append(.init(field: field, message: message)) }
    }

    /// A name that does not exist. For the first few the one is named that was probably meant: a wrong request must not cost much.
    ///
    /// - Parameter orAll: whether few names are all listed where none is near.
    mutating func report(
        _ field: String,
        _ problem: String,
        _ name: String,
        among names: @autoclosure () -> [String],
        orAll: Bool = false
    ) {
        guard details.count < 5 else { return report(field, problem) }
        let explain = orAll ? NearName.problemOrAll : NearName.problem
        report(field, explain(problem, name, names()))
    }

    /// A problem of the value that is being read.
    @inline(never)
    private mutating func report(_ message: String) {
        if details.count < Self.maximumDetails { details.append(.init(field: pathText(), message: message)) }
    }

    /// The value that is being read is not what `field` takes.
    @inline(never)
    private mutating func reportWrong(_ field: FieldTable, _ mode: ValueWriter.Mode, _ problem: String? = nil) {
        if details.count < Self.maximumDetails {
            details.append(.init(field: pathText(), message: problem ?? tables.expectation(field)))
        }
        values.standIn(field, mode)
    }

    private func pathText() -> String {
        var text = ""
        for index in 0..<pathCount {
            switch path[index] {
            case .field(let index): text += (text.isEmpty ? "" : ".") + tables.name(tables.fields[index])
            case .index(let index): text += "[\(index)]"
            case .key(let start, let end):
                text += "[\"\(ByteText.shown(UnsafeBufferPointer(start: scanner.base + start, count: end - start)))\"]"
            }
        }
        return text
    }

    // MARK: Values

    /// An object into the fields of a message; its `{` must be next.
    private mutating func object(_ index: Int, taken: [Int] = []) throws(SyntaxProblem) {
        let message = tables.messages[index]
        scanner.position &+= 1
        try scanner.enter()
        if scanner.peek() == UInt8(ascii: "}") {
            scanner.position &+= 1
            scanner.depth &-= 1
            return
        }
        let bits = seen.count
        let words = (Int(message.fieldCount) &+ Int(message.oneofCount) &+ 63) >> 6
        for _ in 0..<max(words, 1) { seen.append(0) }
        for member in taken { markOneof(of: tables.fields[Int(message.firstField) &+ member], in: message, bits: bits) }
        repeat {
            _ = scanner.peek()
            let raw = try scanner.string()
            var problem = StringProblem.none
            let key = try scanner.content(of: raw, problem: &problem)
            let known = key.baseAddress.flatMap { tables.field(message, name: $0, key.count) }
            try scanner.expect(UInt8(ascii: ":"), "is not valid JSON: expected a colon")
            guard let known else {
                unknown(raw, in: message, taken: taken)
                try scanner.skipValue()
                continue
            }
            push(.field(Int(message.firstField) &+ known))
            try member(known, of: message, bits: bits, isTaken: taken.contains(known))
            pathCount &-= 1
        } while try scanner.another(closing: UInt8(ascii: "}"))
        seen.removeLast(seen.count &- bits)
    }

    private mutating func unknown(_ raw: JSONScanner.RawString, in message: MessageTable, taken: [Int]) {
        let name = ByteText.shown(UnsafeBufferPointer(start: scanner.base + raw.start, count: raw.end - raw.start))
        let parent = pathText()
        let field = parent.isEmpty ? name : "\(parent).\(name)"
        let tables = tables
        report(
            field,
            "is not a known field",
            name,
            among: tables.names(message) { !taken.contains($0) },
            orAll: true
        )
    }

    private mutating func member(_ index: Int, of message: MessageTable, bits: Int, isTaken: Bool) throws(SyntaxProblem) {
        let field = tables.fields[Int(message.firstField) &+ index]
        let mask = UInt64(1) << UInt64(index & 63)
        let word = bits &+ index >> 6
        if seen[word] & mask != 0 || isTaken {
            report(isTaken ? takenProblem(index) : "is given twice")
            return try scanner.skipValue()
        }
        seen[word] |= mask
        if scanner.peek() == UInt8(ascii: "n") { return try scanner.literal("null") }
        if field.oneof >= 0 {
            let slot = Int(message.fieldCount) &+ Int(field.oneof)
            let mask = UInt64(1) << UInt64(slot & 63)
            if seen[bits &+ slot >> 6] & mask != 0 {
                let names = rivals(field, in: message)
                report("cannot be given together with another of: \(names)")
                return try scanner.skipValue()
            }
            seen[bits &+ slot >> 6] |= mask
        }
        if field.shape == .repeated, scanner.peek() == UInt8(ascii: "\""), try takeAll(message, bits: bits) { return }
        try self.field(field)
    }

    private func takenProblem(_ index: Int) -> String {
        files.contains(index)
            ? "is a file: send it in a form (multipart/form-data)" : "is not taken from the body on this route"
    }

    /// The text `all` in place of a list, where the message has a flag of this name: it is set. False when this is none.
    private mutating func takeAll(_ message: MessageTable, bits: Int) throws(SyntaxProblem) -> Bool {
        let name: StaticString = "all"
        guard let index = tables.field(message, name: name.utf8Start, name.utf8CodeUnitCount) else { return false }
        let flag = tables.fields[Int(message.firstField) &+ index]
        guard flag.kind == .bool, flag.shape == .scalar else { return false }
        let start = scanner.position
        let raw = try scanner.string()
        var problem = StringProblem.none
        let text = try scanner.content(of: raw, problem: &problem)
        guard problem == .none, text.elementsEqual([97, 108, 108]) else {
            scanner.position = start
            return false
        }
        let (word, mask) = (bits &+ index >> 6, UInt64(1) << UInt64(index & 63))
        if seen[word] & mask != 0 {
            report("cannot be given together with all")
        } else {
            seen[word] |= mask
            values.bool(flag, true, .plain)
        }
        return true
    }

    /// What comes from elsewhere counts as set.
    private mutating func markOneof(of field: FieldTable, in message: MessageTable, bits: Int) {
        guard field.oneof >= 0 else { return }
        let slot = Int(message.fieldCount) &+ Int(field.oneof)
        seen[bits &+ slot >> 6] |= UInt64(1) << UInt64(slot & 63)
    }

    private func rivals(_ field: FieldTable, in message: MessageTable) -> String {
        (0..<Int(message.fieldCount)).map { tables.fields[Int(message.firstField) + $0] }
            .filter { $0.oneof == field.oneof }.map { tables.name($0) }.joined(separator: ", ")
    }

    @inline(__always)
    private mutating func field(_ field: FieldTable) throws(SyntaxProblem) {
        switch field.shape {
        case .scalar: try value(field, .plain)
        case .optional: try value(field, .present)
        case .repeated: try array(field)
        case .map: try map(field)
        }
    }

    private mutating func array(_ field: FieldTable) throws(SyntaxProblem) {
        guard scanner.peek() == UInt8(ascii: "[") else {
            report("must be an array")
            return try scanner.skipValue()
        }
        scanner.position &+= 1
        try scanner.enter()
        if scanner.peek() == UInt8(ascii: "]") {
            scanner.position &+= 1
            scanner.depth &-= 1
            return
        }
        var start = 0
        if field.packed {
            values.tag(field)
            start = values.out.beginLength()
        }
        var index = 0
        push(.index(0))
        repeat {
            path[pathCount &- 1] = .index(index)
            try value(field, field.packed ? .packed : .present)
            index &+= 1
        } while try scanner.another(closing: UInt8(ascii: "]"))
        pathCount &-= 1
        if field.packed { values.out.endLength(start) }
    }

    private mutating func map(_ field: FieldTable) throws(SyntaxProblem) {
        guard scanner.peek() == UInt8(ascii: "{") else {
            report("must be an object")
            return try scanner.skipValue()
        }
        scanner.position += 1
        try scanner.enter()
        if scanner.peek() == UInt8(ascii: "}") {
            scanner.position += 1
            scanner.depth -= 1
            return
        }
        let first = Int(tables.messages[Int(field.typeIndex)].firstField)
        let (keyField, valueField) = (tables.fields[first], tables.fields[first + 1])
        var keys: Set<[UInt8]> = []
        push(.index(0))
        repeat {
            _ = scanner.peek()
            let raw = try scanner.string()
            path[pathCount &- 1] = .key(raw.start, raw.end)
            let entry = values.out.count
            values.tag(field)
            let start = values.out.beginLength()
            var problem = StringProblem.none
            let key = try scanner.content(of: raw, problem: &problem)
            var hasKey = problem == .none
            if problem != .none {
                report("has a key that \(problem.message)")
            } else if !values.text(keyField, key, .present) {
                hasKey = false
                let expected = tables.expectation(keyField)
                report("has a key that \(expected)")
            }
            let written = [UInt8](UnsafeBufferPointer(start: values.out.base + start, count: values.out.count - start))
            if !keys.insert(written).inserted { report("is given twice") }
            try scanner.expect(UInt8(ascii: ":"), "is not valid JSON: expected a colon")
            try value(valueField, .present)
            if hasKey { values.out.endLength(start) } else { values.out.count = entry }
        } while try scanner.another(closing: UInt8(ascii: "}"))
        pathCount &-= 1
    }

    private mutating func value(_ field: FieldTable, _ mode: ValueWriter.Mode) throws(SyntaxProblem) {
        let first = scanner.peek()
        switch first {
        case UInt8(ascii: "\""):
            let raw = try scanner.string()
            var problem = StringProblem.none
            let text = try scanner.content(of: raw, problem: &problem)
            if problem != .none { return reportWrong(field, mode, problem.message) }
            switch field.kind {
            case .string where text.isEmpty && field.refusesEmpty: reportWrong(field, mode, Self.emptyText)
            case .string: values.delimited(field, text, mode)
            // Text is no substitute for JSON's own literals; 64-bit integers may come as text because JavaScript rounds them.
            case .bool, .double, .float, .int32, .uint32, .sint32, .fixed32, .sfixed32: reportWrong(field, mode)
            default: if !values.text(field, text, mode) { reportWrong(field, mode) }
            }
        case UInt8(ascii: "-"), 48...57:
            let number = try scanner.number()
            if !self.number(number, field, mode) { reportWrong(field, mode) }
        case UInt8(ascii: "t"):
            try scanner.literal("true")
            if field.kind == .bool { values.bool(field, true, mode) } else { reportWrong(field, mode) }
        case UInt8(ascii: "f"):
            try scanner.literal("false")
            if field.kind == .bool { values.bool(field, false, mode) } else { reportWrong(field, mode) }
        case UInt8(ascii: "{") where field.kind == .message:
            values.tag(field)
            let start = values.out.beginLength()
            try object(Int(field.typeIndex))
            values.out.endLength(start)
        default:
            // Also null, which an array or map cannot hold.
            reportWrong(field, mode)
            try scanner.skipValue()
        }
    }

    private mutating func number(_ number: JSONScanner.Number, _ field: FieldTable, _ mode: ValueWriter.Mode) -> Bool {
        switch field.kind {
        case .string, .bytes, .bool, .enumeration, .timestamp, .message: return false
        case .double, .float:
            // Up to 2^53 every integer is a double, so the digits need no further reading.
            if number.isInteger, !number.overflow, number.magnitude <= 1 << 53, !number.negative {
                return values.floating(field, Double(number.magnitude), mode)
            }
            let text = UnsafeBufferPointer(start: scanner.base + number.start, count: number.end - number.start)
            return ValueWriter.decimal(text).map { values.floating(field, $0, mode) } ?? false
        default:
            if number.isInteger {
                return !number.overflow
                    && values.integer(field, negative: number.negative, magnitude: number.magnitude, mode)
            }
            // Some encoders write 3 as 3.0 or 3e0; a fraction is refused.
            let text = UnsafeBufferPointer(start: scanner.base + number.start, count: number.end - number.start)
            guard let value = ValueWriter.decimal(text), value == value.rounded(), abs(value) <= 9_007_199_254_740_992 else {
                return false
            }
            return values.integer(field, negative: value < 0, magnitude: UInt64(abs(value)), mode)
        }
    }
}
