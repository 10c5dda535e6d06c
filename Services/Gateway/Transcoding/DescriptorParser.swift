/// Reads a `google.protobuf.FileDescriptorSet` into descriptors whose types are not looked up yet.
///
/// Everything is bounded (`Limit`), and every error names the element it was found in.
struct DescriptorParser {
    /// Bounds on what a service may send; far above what a real service needs.
    enum Limit {
        static let bytes = 16 << 20
        static let types = 10_000
        static let fields = 1_000
        static let depth = 16
    }

    var messages: [MessageDescriptor] = []
    var enums: [EnumDescriptor] = []
    var services: [ServiceDescriptor] = []
    private var comments: [[Int32]: String] = [:]
    private var isProto3 = false

    mutating func parse(set: WireCursor) throws(DescriptorError) {
        try each(set, in: "descriptor set") { parser, number, value throws(DescriptorError) in
            if case (1, .bytes(let file)) = (number, value) { try parser.parse(file: file) }
        }
    }

    private mutating func parse(file: WireCursor) throws(DescriptorError) {
        var package = ""
        var name = "file"
        var syntax = "proto2"
        comments = [:]
        // Comments and syntax come last in a file but are needed first.
        try each(file, in: name) { parser, number, value throws(DescriptorError) in
            guard case .bytes(let inner) = value else { return }
            switch number {
            case 1: name = try parser.text(inner, in: "file")
            case 2: package = try parser.text(inner, in: name)
            case 9: try parser.parse(sourceInfo: inner, in: name)
            case 12: syntax = try parser.text(inner, in: name)
            default: break
            }
        }
        isProto3 = syntax == "proto3"
        var indices: [UInt32: Int32] = [:]
        try each(file, in: name) { parser, number, value throws(DescriptorError) in
            guard case .bytes(let inner) = value, (4...6).contains(number) else { return }
            let path = [Int32(number), indices[number, default: 0]]
            indices[number, default: 0] += 1
            switch number {
            case 4: try parser.parse(message: inner, scope: package, path: path, depth: 0)
            case 5: try parser.parse(enumeration: inner, scope: package, path: path)
            default: try parser.parse(service: inner, package: package, path: path)
            }
        }
    }

    private mutating func parse(sourceInfo: WireCursor, in file: String) throws(DescriptorError) {
        try each(sourceInfo, in: file) { parser, number, value throws(DescriptorError) in
            guard case (1, .bytes(let location)) = (number, value) else { return }
            var path: [Int32] = []
            var leading = ""
            var trailing = ""
            try parser.each(location, in: file) { parser, number, value throws(DescriptorError) in
                switch (number, value) {
                case (1, .bytes(var packed)):
                    do throws(WireProblem) {
                        while packed.count > 0 { path.append(Int32(truncatingIfNeeded: try packed.varint())) }
                    } catch { throw DescriptorError(element: file, problem: "\(error.rawValue)") }
                case (1, .varint(let part)): path.append(Int32(truncatingIfNeeded: part))
                case (3, .bytes(let text)): leading = try parser.text(text, in: file)
                case (4, .bytes(let text)): trailing = try parser.text(text, in: file)
                default: break
                }
            }
            let comment = Self.tidied(leading.isEmpty ? trailing : leading)
            if !comment.isEmpty { parser.comments[path] = comment }
        }
    }

    private mutating func parse(
        message bytes: WireCursor,
        scope: String,
        path: [Int32],
        depth: Int
    ) throws(DescriptorError) {
        var message = MessageDescriptor()
        let fullName = try name(of: bytes, scope: scope)
        message.fullName = fullName
        message.comment = comments[path] ?? ""
        message.isProto3 = isProto3
        guard depth < Limit.depth else { throw DescriptorError(element: fullName, problem: "is nested too deeply") }
        var (nested, enumCount): (Int32, Int32) = (0, 0)
        try each(bytes, in: fullName) { parser, number, value throws(DescriptorError) in
            guard case .bytes(let inner) = value else { return }
            switch number {
            case 2:
                let index = Int32(message.fields.count)
                message.fields.append(try parser.parse(field: inner, of: fullName, path: path + [2, index]))
            case 3:
                try parser.parse(message: inner, scope: fullName, path: path + [3, nested], depth: depth + 1)
                nested += 1
            case 4:
                try parser.parse(enumeration: inner, scope: fullName, path: path + [4, enumCount])
                enumCount += 1
            case 7:
                do throws(WireProblem) { try OptionsParser.message(inner, into: &message) } catch {
                    throw DescriptorError(element: fullName, problem: error.rawValue)
                }
            case 8: message.oneofs.append(try parser.name(of: inner, scope: "", within: fullName))
            default: break
            }
        }
        guard message.fields.count <= Limit.fields, message.oneofs.count <= Limit.fields else {
            throw DescriptorError(element: fullName, problem: "has more than \(Limit.fields) fields")
        }
        Self.describePages(&message)
        messages.append(message)
        try checkCount(fullName)
    }

    /// The size of a list's pages is said once, by its option: the page about it says it in words.
    private static func describePages(_ message: inout MessageDescriptor) {
        guard let (standard, most) = message.pageSize,
            let limit = message.fields.firstIndex(where: { $0.name == "limit" })
        else { return }
        let size =
            standard == most
            ? "\(standard) when absent, and at most." : "\(standard) when absent; above \(most) is taken as \(most)."
        let comment = message.fields[limit].comment
        // The client library has the comment only, so some say it themselves.
        guard !comment.contains(size) else { return }
        let subject = comment.hasSuffix(".") ? String(comment.dropLast()) : comment
        message.fields[limit].comment = subject.isEmpty ? size : "\(subject): \(size)"
    }

    private func parse(field bytes: WireCursor, of message: String, path: [Int32]) throws(DescriptorError) -> FieldDescriptor {
        var field = FieldDescriptor()
        field.name = try name(of: bytes, scope: "", within: message)
        let element = "\(message).\(field.name)"
        field.comment = comments[path] ?? ""
        var cursor = bytes
        var type: UInt64 = 0
        do {
            while let (number, value) = try cursor.next() {
                switch (number, value) {
                case (3, .varint(let raw)): field.number = UInt32(clamping: raw)
                case (4, .varint(let label)):
                    field.isRepeated = label == 3
                    field.isRequired = label == 2
                case (5, .varint(let raw)): type = raw
                case (6, .bytes(let inner)): field.typeName = try inner.text()
                case (8, .bytes(let inner)): try OptionsParser.field(inner, into: &field)
                case (9, .varint(let raw)): field.oneof = Int(clamping: raw)
                case (17, .varint(let raw)): field.isProto3Optional = raw != 0
                default: break
                }
            }
        } catch { throw DescriptorError(element: element, problem: error.rawValue) }
        guard let kind = FieldKind(rawValue: UInt8(clamping: type)), kind != .timestamp else {
            throw DescriptorError(element: element, problem: "has type \(type), which is not supported")
        }
        field.kind = kind
        return field
    }

    private mutating func parse(enumeration bytes: WireCursor, scope: String, path: [Int32]) throws(DescriptorError) {
        var enumeration = EnumDescriptor()
        let fullName = try name(of: bytes, scope: scope)
        enumeration.fullName = fullName
        enumeration.comment = comments[path] ?? ""
        let prefix = Self.prefix(ofEnum: fullName)
        try each(bytes, in: fullName) { parser, number, value throws(DescriptorError) in
            guard case (2, .bytes(let inner)) = (number, value) else { return }
            var entry = EnumDescriptor.Value()
            let protoName = try parser.name(of: inner, scope: "", within: fullName)
            let short = protoName.hasPrefix(prefix) ? String(protoName.dropFirst(prefix.count)) : protoName
            entry.jsonName = (short.isEmpty ? protoName : short).lowercased()
            entry.comment = parser.comments[path + [2, Int32(enumeration.values.count)]] ?? ""
            try parser.each(inner, in: fullName) { _, number, value throws(DescriptorError) in
                if case (2, .varint(let raw)) = (number, value) { entry.number = Int32(truncatingIfNeeded: raw) }
            }
            enumeration.values.append(entry)
        }
        guard !enumeration.values.isEmpty, enumeration.values.count <= Limit.types else {
            throw DescriptorError(element: fullName, problem: "has no values or too many")
        }
        enums.append(enumeration)
        try checkCount(fullName)
    }

    private mutating func parse(service bytes: WireCursor, package: String, path: [Int32]) throws(DescriptorError) {
        var service = ServiceDescriptor()
        let fullName = try name(of: bytes, scope: package)
        service.fullName = fullName
        service.package = package
        service.comment = comments[path] ?? ""
        try each(bytes, in: fullName) { parser, number, value throws(DescriptorError) in
            guard case (2, .bytes(let inner)) = (number, value) else { return }
            var method = MethodDescriptor()
            method.name = try parser.name(of: inner, scope: "", within: fullName)
            let element = "\(fullName).\(method.name)"
            method.comment = parser.comments[path + [2, Int32(service.methods.count)]] ?? ""
            try parser.each(inner, in: element) { parser, number, value throws(DescriptorError) in
                switch (number, value) {
                case (2, .bytes(let text)): method.requestType = try parser.text(text, in: element)
                case (3, .bytes(let text)): method.replyType = try parser.text(text, in: element)
                case (4, .bytes(let options)):
                    do throws(WireProblem) { try OptionsParser.method(options, into: &method) } catch {
                        throw DescriptorError(element: element, problem: error.rawValue)
                    }
                case (5, .varint(let flag)), (6, .varint(let flag)): method.isStreaming = method.isStreaming || flag != 0
                default: break
                }
            }
            service.methods.append(method)
        }
        services.append(service)
        try checkCount(fullName)
    }
}

extension DescriptorParser {
    /// Calls `body` for every field of a message, turning wire problems into errors that name `element`.
    private mutating func each(
        _ bytes: WireCursor,
        in element: String,
        _ body: (inout DescriptorParser, UInt32, WireCursor.Value) throws(DescriptorError) -> Void
    ) throws(DescriptorError) {
        var cursor = bytes
        while true {
            let next: (number: UInt32, value: WireCursor.Value)?
            do { next = try cursor.next() } catch { throw DescriptorError(element: element, problem: error.rawValue) }
            guard let next else { return }
            try body(&self, next.number, next.value)
        }
    }

    /// Field 1 of a descriptor: its name, which must be an identifier because it ends up in JSON keys, subjects and paths.
    private func name(of bytes: WireCursor, scope: String, within: String = "") throws(DescriptorError) -> String {
        var cursor = bytes
        let element = within.isEmpty ? scope : within
        var name = ""
        do {
            while let (number, value) = try cursor.next() {
                if case (1, .bytes(let inner)) = (number, value) { name = try inner.text() }
            }
        } catch { throw DescriptorError(element: element, problem: error.rawValue) }
        guard Self.isIdentifier(name) else {
            throw DescriptorError(
                element: element,
                problem: "holds a name that is not an identifier: \(ByteText.shown(name.utf8))"
            )
        }
        return scope.isEmpty ? name : "\(scope).\(name)"
    }

    private func text(_ bytes: WireCursor, in element: String) throws(DescriptorError) -> String {
        do { return try bytes.text() } catch { throw DescriptorError(element: element, problem: error.rawValue) }
    }

    private func checkCount(_ element: String) throws(DescriptorError) {
        guard messages.count + enums.count + services.count <= Limit.types else {
            throw DescriptorError(element: element, problem: "is one type too many: at most \(Limit.types)")
        }
    }

    private static func isIdentifier(_ name: String) -> Bool {
        guard let first = name.utf8.first, name.utf8.count <= 200, !(48...57).contains(first) else { return false }
        return name.utf8.allSatisfy { byte in
            (97...122).contains(byte) || (65...90).contains(byte) || (48...57).contains(byte) || byte == UInt8(ascii: "_")
        }
    }

    /// `a.b.AccountStatus` has values that begin with `ACCOUNT_STATUS_`.
    private static func prefix(ofEnum fullName: String) -> String {
        var result = ""
        var previous: Character = "_"
        for character in fullName.split(separator: ".").last ?? "" {
            if character.isUppercase, previous.isLowercase || previous.isNumber { result.append("_") }
            result.append(contentsOf: character.uppercased())
            previous = character
        }
        return result + "_"
    }

    /// A comment without the space that follows `//` and without empty lines around it.
    private static func tidied(_ comment: String) -> String {
        var lines = comment.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.hasPrefix(" ") ? line.dropFirst() : line
        }
        while lines.last?.isEmpty == true { lines.removeLast() }
        while lines.first?.isEmpty == true { lines.removeFirst() }
        return RuleIDs.removed(from: lines.joined(separator: "\n"))
    }
}
