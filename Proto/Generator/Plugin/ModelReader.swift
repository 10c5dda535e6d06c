/// Makes the generator's model from protoc's descriptors. The numbers of fields are those of descriptor.proto.
struct ModelReader {
    private let comments: Comments
    private let package: String
    private let file: ProtoBytes

    private init(_ file: ProtoBytes) throws {
        self.file = file
        comments = try Comments(try file.message(9))
        package = file.text(2)
    }

    static func read(_ file: ProtoBytes) throws -> ProtoFile { try ModelReader(file).read() }

    private func read() throws -> ProtoFile {
        let name = file.text(1)
        do {
            return ProtoFile(
                name: name,
                package: package,
                dependencies: file.texts(3),
                messages: try file.messages(4).enumerated().map { try message($1, outer: [], location: [4, $0]) },
                enums: try file.messages(5).enumerated().map { try enumeration($1, outer: [], location: [5, $0]) },
                services: try file.messages(6).enumerated().map { try service($1, location: [6, $0]) }
            )
        } catch {
            throw GeneratorError("\(name): \(error)")
        }
    }

    private func message(_ proto: ProtoBytes, outer: [String], location: [Int]) throws -> ProtoMessage {
        let path = outer + [proto.text(1)]
        let options = proto.bytes(7) ?? []
        return ProtoMessage(
            path: path,
            package: package,
            comment: comments[location],
            fields: try proto.messages(2).enumerated().map { try field($1, in: path, location: location + [2, $0]) },
            oneofs: try proto.messages(8).enumerated().map {
                ProtoOneof(name: $1.text(1), comment: comments[location + [8, $0]])
            },
            nested: try proto.messages(3).enumerated().map { try message($1, outer: path, location: location + [3, $0]) },
            enums: try proto.messages(4).enumerated().map { try enumeration($1, outer: path, location: location + [4, $0]) },
            isMapEntry: try ProtoBytes(options[...]).flag(7),
            aggregate: try eventAggregate(options: options),
            page: try PageRules(options: options)
        )
    }

    private func field(_ proto: ProtoBytes, in owner: [String], location: [Int]) throws -> ProtoField {
        let name = proto.text(1)
        let isOptional = proto.flag(17)
        do {
            let rules = try FieldRules(options: proto.bytes(8) ?? [])
            return ProtoField(
                name: name,
                number: Int(proto.number(3) ?? 0),
                kind: try Self.typed(try kind(proto), rules, isOptional: isOptional),
                isRepeated: proto.number(4) == 3,
                isOptional: isOptional,
                oneof: isOptional ? nil : proto.number(9).map { Int($0) },
                comment: comments[location],
                rules: rules
            )
        } catch {
            throw GeneratorError("\(owner.joined(separator: ".")).\(name): \(error)")
        }
    }

    /// A text that the rules call an id or a date is one in Swift.
    private static func typed(_ kind: ProtoField.Kind, _ rules: FieldRules, isOptional: Bool) throws -> ProtoField.Kind {
        guard rules.isTyped else { return kind }
        guard case .string = kind, rules.id.isEmpty || !rules.isDate, !rules.hasTextRules, !rules.isSecret else {
            throw GeneratorError("a rule that does not fit the field's type")
        }
        guard !(isOptional && rules.isRequired) else { throw GeneratorError("a field cannot be optional and required") }
        return rules.isDate ? .typed(swift: "Kernel.CalendarDate", .date) : .typed(swift: "Kernel.\(rules.id)ID", .id)
    }

    /// Numbers are those of google.protobuf.FieldDescriptorProto.Type.
    private func kind(_ proto: ProtoBytes) throws -> ProtoField.Kind {
        let type = String(proto.text(6).drop { $0 == "." })
        switch proto.number(5) {
        case 1: return .number(swift: "Double")
        case 2: return .number(swift: "Float")
        case 3, 16, 18: return .number(swift: "Int64")
        case 4, 6: return .number(swift: "UInt64")
        case 5, 15, 17: return .number(swift: "Int32")
        case 7, 13: return .number(swift: "UInt32")
        case 8: return .bool
        case 9: return .string
        case 12: return .bytes
        case 14: return .enumeration(type)
        case 11 where type == "google.protobuf.Timestamp": return .timestamp
        case 11: return .message(type)
        default: throw GeneratorError("groups are not supported")
        }
    }

    private func enumeration(_ proto: ProtoBytes, outer: [String], location: [Int]) throws -> ProtoEnum {
        ProtoEnum(
            path: outer + [proto.text(1)],
            package: package,
            comment: comments[location],
            values: try proto.messages(2).enumerated().map { index, value in
                ProtoEnum.Value(
                    name: value.text(1),
                    number: Int32(truncatingIfNeeded: value.number(2) ?? 0),
                    comment: comments[location + [2, index]]
                )
            }
        )
    }

    private func service(_ proto: ProtoBytes, location: [Int]) throws -> ProtoService {
        ProtoService(
            name: proto.text(1),
            comment: comments[location],
            methods: try proto.messages(2).enumerated().map { index, method in
                let name = method.text(1)
                guard !method.flag(5), !method.flag(6) else {
                    throw GeneratorError("rpc \(name): streams are not supported, use the `stream` option")
                }
                return ProtoService.Method(
                    name: name,
                    input: String(method.text(2).drop { $0 == "." }),
                    output: String(method.text(3).drop { $0 == "." }),
                    comment: comments[location + [2, index]],
                    policy: try MethodPolicy(options: method.bytes(4) ?? [])
                )
            }
        )
    }
}

/// Comments of a file by the path of what they describe (SourceCodeInfo).
private struct Comments {
    private var byPath: [[Int]: String] = [:]

    init(_ info: ProtoBytes?) throws {
        for location in try info?.messages(1) ?? [] {
            let comment = [3, 4].map(location.text).filter { !$0.isEmpty }.joined(separator: "\n")
            if !comment.isEmpty { byPath[Self.numbers(location.bytes(1) ?? [])] = comment }
        }
    }

    subscript(path: [Int]) -> String { byPath[path] ?? "" }

    /// Packed varints.
    private static func numbers(_ bytes: [UInt8]) -> [Int] {
        var (numbers, number, shift) = ([Int](), 0, 0)
        for byte in bytes {
            number |= Int(byte & 0x7F) << shift
            shift += 7
            guard byte < 0x80 else { continue }
            numbers.append(number)
            (number, shift) = (0, 0)
        }
        return numbers
    }
}
