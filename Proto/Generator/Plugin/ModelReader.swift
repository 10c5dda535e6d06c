internal import CDescriptor

/// Makes the generator's model from protoc's descriptors.
struct ModelReader {
    private let comments: Comments
    private let package: String
    private let file: UnsafeMutablePointer<Google__Protobuf__FileDescriptorProto>

    private init(_ file: UnsafeMutablePointer<Google__Protobuf__FileDescriptorProto>) {
        self.file = file
        comments = Comments(file.pointee.source_code_info)
        package = text(file.pointee.package)
    }

    static func read(_ file: UnsafeMutablePointer<Google__Protobuf__FileDescriptorProto>) throws -> ProtoFile {
        try ModelReader(file).read()
    }

    private func read() throws -> ProtoFile {
        let name = text(file.pointee.name)
        let dependencies = UnsafeBufferPointer(start: file.pointee.dependency, count: file.pointee.n_dependency).map { text($0) }
        do {
            return ProtoFile(
                name: name,
                package: package,
                dependencies: dependencies,
                messages: try list(file.pointee.message_type, file.pointee.n_message_type).enumerated().map {
                    try message($1, outer: [], location: [4, Int32($0)])
                },
                enums: list(file.pointee.enum_type, file.pointee.n_enum_type).enumerated().map {
                    enumeration($1, outer: [], location: [5, Int32($0)])
                },
                services: try list(file.pointee.service, file.pointee.n_service).enumerated().map {
                    try service($1, location: [6, Int32($0)])
                }
            )
        } catch {
            throw GeneratorError("\(name): \(error)")
        }
    }

    private func message(
        _ proto: UnsafeMutablePointer<Google__Protobuf__DescriptorProto>,
        outer: [String],
        location: [Int32]
    ) throws -> ProtoMessage {
        let path = outer + [text(proto.pointee.name)]
        let fields = try list(proto.pointee.field, proto.pointee.n_field).enumerated().map {
            try field($1, in: path, location: location + [2, Int32($0)])
        }
        return ProtoMessage(
            path: path,
            package: package,
            comment: comments[location],
            fields: fields,
            oneofs: list(proto.pointee.oneof_decl, proto.pointee.n_oneof_decl).enumerated().map {
                ProtoOneof(name: text($1.pointee.name), comment: comments[location + [8, Int32($0)]])
            },
            nested: try list(proto.pointee.nested_type, proto.pointee.n_nested_type).enumerated().map {
                try message($1, outer: path, location: location + [3, Int32($0)])
            },
            enums: list(proto.pointee.enum_type, proto.pointee.n_enum_type).enumerated().map {
                enumeration($1, outer: path, location: location + [4, Int32($0)])
            },
            isMapEntry: proto.pointee.options.map { $0.pointee.map_entry != 0 } ?? false,
            aggregate: try proto.pointee.options.flatMap { try eventAggregate(options: pack($0)) },
            page: try proto.pointee.options.flatMap { try PageRules(options: pack($0)) }
        )
    }

    private func field(
        _ proto: UnsafeMutablePointer<Google__Protobuf__FieldDescriptorProto>,
        in owner: [String],
        location: [Int32]
    ) throws -> ProtoField {
        let name = text(proto.pointee.name)
        let isOptional = proto.pointee.proto3_optional != 0
        do {
            let rules = try FieldRules(options: proto.pointee.options.map { pack($0) } ?? [])
            return ProtoField(
                name: name,
                number: Int(proto.pointee.number),
                kind: try Self.typed(try kind(proto), rules, isOptional: isOptional),
                isRepeated: proto.pointee.label == GOOGLE__PROTOBUF__FIELD_DESCRIPTOR_PROTO__LABEL__LABEL_REPEATED,
                isOptional: isOptional,
                oneof: proto.pointee.has_oneof_index != 0 && !isOptional ? Int(proto.pointee.oneof_index) : nil,
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
    private func kind(_ proto: UnsafeMutablePointer<Google__Protobuf__FieldDescriptorProto>) throws -> ProtoField.Kind {
        let type = String(text(proto.pointee.type_name).drop { $0 == "." })
        switch proto.pointee.type.rawValue {
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

    private func enumeration(
        _ proto: UnsafeMutablePointer<Google__Protobuf__EnumDescriptorProto>,
        outer: [String],
        location: [Int32]
    ) -> ProtoEnum {
        ProtoEnum(
            path: outer + [text(proto.pointee.name)],
            package: package,
            comment: comments[location],
            values: list(proto.pointee.value, proto.pointee.n_value).enumerated().map {
                ProtoEnum.Value(
                    name: text($1.pointee.name),
                    number: $1.pointee.number,
                    comment: comments[location + [2, Int32($0)]]
                )
            }
        )
    }

    private func service(
        _ proto: UnsafeMutablePointer<Google__Protobuf__ServiceDescriptorProto>,
        location: [Int32]
    ) throws -> ProtoService {
        ProtoService(
            name: text(proto.pointee.name),
            comment: comments[location],
            methods: try list(proto.pointee.method, proto.pointee.n_method).enumerated().map { index, method in
                let name = text(method.pointee.name)
                guard method.pointee.client_streaming == 0, method.pointee.server_streaming == 0 else {
                    throw GeneratorError("rpc \(name): streams are not supported, use the `stream` option")
                }
                return ProtoService.Method(
                    name: name,
                    input: String(text(method.pointee.input_type).drop { $0 == "." }),
                    output: String(text(method.pointee.output_type).drop { $0 == "." }),
                    comment: comments[location + [2, Int32(index)]],
                    policy: try MethodPolicy(options: method.pointee.options.map { pack($0) } ?? [])
                )
            }
        )
    }
}

/// Comments of a file by the path of what they describe (SourceCodeInfo).
private struct Comments {
    private var byPath: [[Int32]: String] = [:]

    init(_ info: UnsafeMutablePointer<Google__Protobuf__SourceCodeInfo>?) {
        guard let info else { return }
        for location in list(info.pointee.location, info.pointee.n_location) {
            let parts = [text(location.pointee.leading_comments), text(location.pointee.trailing_comments)]
            let comment = parts.filter { !$0.isEmpty }.joined(separator: "\n")
            guard !comment.isEmpty else { continue }
            byPath[Array(UnsafeBufferPointer(start: location.pointee.path, count: location.pointee.n_path))] = comment
        }
    }

    subscript(path: [Int32]) -> String { byPath[path] ?? "" }
}
