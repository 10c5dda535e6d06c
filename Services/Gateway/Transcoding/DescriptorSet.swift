/// What a service says about its messages and methods: a parsed and checked `google.protobuf.FileDescriptorSet` (D2).
///
/// Made from the bytes that `protoc --include_imports --include_source_info --descriptor_set_out` writes. The parser is strict and
/// bounded: bytes of a hostile or broken service give an error that names what is wrong.
public struct DescriptorSet: Sendable {
    /// All message types, also nested ones and those of imported files.
    public let messages: [MessageDescriptor]
    /// All enum types.
    public let enums: [EnumDescriptor]
    /// All services, in the order of the files.
    public private(set) var services: [ServiceDescriptor]

    /// Sets of newer versions of the service, the best first: what they have too is described as they say.
    var better: [DescriptorSet] = []
    let schema: Schema
    private let messageIndices: [String: Int]
    private let enumIndices: [String: Int]

    /// Parses and checks a serialized `google.protobuf.FileDescriptorSet`.
    ///
    /// - Parameter bytes: at most 16 MiB, imports included (a type that is missing is an error).
    /// - Throws: `DescriptorError` naming the element and what is wrong with it.
    public init(serialized bytes: [UInt8]) throws(DescriptorError) {
        guard bytes.count <= DescriptorParser.Limit.bytes else {
            throw DescriptorError(element: "", problem: "is larger than \(DescriptorParser.Limit.bytes) bytes")
        }
        var parser = DescriptorParser()
        let problem: DescriptorError? = bytes.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return nil }
            do throws(DescriptorError) {
                try parser.parse(set: WireCursor(base: base, position: 0, end: buffer.count))
                return nil
            } catch { return error }
        }
        if let problem { throw problem }
        var linker = DescriptorLinker(messages: parser.messages, enums: parser.enums)
        try linker.link()
        try linker.check(services: parser.services)
        self.messages = linker.messages
        self.enums = linker.enums
        self.services = parser.services
        self.messageIndices = linker.messageIndices
        self.enumIndices = linker.enumIndices
        self.schema = Schema(messages: linker.messages, enums: linker.enums)
    }

    /// The message type of this full name (`streaksnap.auth.v1.Me`).
    public func message(named name: String) -> MessageDescriptor? { messageIndices[name].map { messages[$0] } }

    /// The enum type of this full name.
    public func enumeration(named name: String) -> EnumDescriptor? { enumIndices[name].map { enums[$0] } }

    /// The set whose description of this message counts: the best that has it.
    func describing(_ message: String) -> DescriptorSet { better.first { $0.message(named: message) != nil } ?? self }

    /// The set with the services of one bus name only; the types stay.
    func only(service name: String) -> DescriptorSet {
        var copy = self
        copy.services = services.filter { BusName(package: $0.package)?.service == name }
        return copy
    }

    func index(ofMessage name: String) -> Int? { messageIndices[name] }
}

/// Looks up the types of fields and methods, settles their shapes and refuses what contradicts itself.
struct DescriptorLinker {
    var messages: [MessageDescriptor]
    var enums: [EnumDescriptor]
    var messageIndices: [String: Int] = [:]
    var enumIndices: [String: Int] = [:]

    init(messages: [MessageDescriptor], enums: [EnumDescriptor]) {
        self.messages = messages
        self.enums = enums
    }

    mutating func link() throws(DescriptorError) {
        for (index, message) in messages.enumerated() {
            guard messageIndices.updateValue(index, forKey: message.fullName) == nil else {
                throw DescriptorError(element: message.fullName, problem: "is declared twice")
            }
        }
        for (index, enumeration) in enums.enumerated() {
            guard messageIndices[enumeration.fullName] == nil,
                enumIndices.updateValue(index, forKey: enumeration.fullName) == nil
            else { throw DescriptorError(element: enumeration.fullName, problem: "is declared twice") }
        }
        for index in messages.indices { try link(message: index) }
        for message in messages where message.isMapEntry { try check(mapEntry: message) }
    }

    private mutating func link(message index: Int) throws(DescriptorError) {
        let message = messages[index]
        var numbers: Set<UInt32> = []
        var names: Set<String> = []
        for position in message.fields.indices {
            var field = message.fields[position]
            let element = "\(message.fullName).\(field.name)"
            guard (1...536_870_911).contains(field.number), !(19_000...19_999).contains(field.number) else {
                throw DescriptorError(element: element, problem: "has number \(field.number), which is not a valid field number")
            }
            guard numbers.insert(field.number).inserted else {
                throw DescriptorError(element: element, problem: "has number \(field.number), which another field has already")
            }
            guard names.insert(field.name).inserted else { throw DescriptorError(element: element, problem: "is declared twice") }
            if let oneof = field.oneof {
                guard message.oneofs.indices.contains(oneof), !field.isRepeated else {
                    throw DescriptorError(element: element, problem: "is in a oneof that it cannot be in")
                }
                if field.isProto3Optional { field.oneof = nil }
            }
            try resolve(&field, of: message, element: element)
            messages[index].fields[position] = field
        }
    }

    private func resolve(_ field: inout FieldDescriptor, of message: MessageDescriptor, element: String) throws(DescriptorError) {
        let hadOneof = field.oneof != nil
        let explicit = field.isProto3Optional || hadOneof || (!message.isProto3 && !field.isRequired)
        field.shape = field.isRepeated ? .repeated : explicit ? .optional : .scalar
        guard field.kind == .message || field.kind == .enumeration else {
            guard field.typeName.isEmpty else {
                throw DescriptorError(element: element, problem: "names a type but is a scalar")
            }
            return
        }
        field.typeName = field.typeName.hasPrefix(".") ? String(field.typeName.dropFirst()) : field.typeName
        let indices = field.kind == .message ? messageIndices : enumIndices
        guard let index = indices[field.typeName] else {
            throw DescriptorError(
                element: element,
                problem: "has a type that is not in the set: \(ByteText.shown(field.typeName.utf8))"
            )
        }
        field.typeIndex = index
        guard field.kind == .message else { return }
        let isEntry = messages[index].isMapEntry
        if field.typeName == "google.protobuf.Timestamp" {
            let fields = messages[index].fields
            guard fields.map(\.number) == [1, 2], fields.map(\.kind) == [.int64, .int32] else {
                throw DescriptorError(element: field.typeName, problem: "is not the well-known type of that name")
            }
            field.kind = .timestamp
        }
        guard !isEntry || field.isRepeated else { throw DescriptorError(element: element, problem: "is a map but not repeated") }
        field.shape = isEntry ? .map : field.isRepeated ? .repeated : .optional
    }

    private func check(mapEntry message: MessageDescriptor) throws(DescriptorError) {
        let problem = DescriptorError(element: message.fullName, problem: "is not a valid map entry")
        guard message.fields.map(\.number) == [1, 2] else { throw problem }
        let (key, value) = (message.fields[0], message.fields[1])
        guard !key.isRepeated, !value.isRepeated, key.oneof == nil, value.oneof == nil else { throw problem }
        switch key.kind {
        case .double, .float, .bytes, .message, .timestamp, .enumeration: throw problem
        default: break
        }
    }

    func check(services: [ServiceDescriptor]) throws(DescriptorError) {
        var names: Set<String> = []
        // The services of a package share its subjects.
        var methods: [String: Set<String>] = [:]
        for service in services {
            guard names.insert(service.fullName).inserted else {
                throw DescriptorError(element: service.fullName, problem: "is declared twice")
            }
            for method in service.methods {
                let element = "\(service.fullName).\(method.name)"
                guard methods[service.package, default: []].insert(method.name).inserted else {
                    throw DescriptorError(element: element, problem: "is declared twice")
                }
                for type in [method.requestType, method.replyType] {
                    guard messageIndices[MethodDescriptor.bare(type)] != nil else {
                        throw DescriptorError(
                            element: element,
                            problem: "has a type that is not in the set: \(ByteText.shown(type.utf8))"
                        )
                    }
                }
                guard !method.isStreaming else {
                    throw DescriptorError(element: element, problem: "streams, which a request on the bus cannot")
                }
            }
        }
    }
}

extension MethodDescriptor {
    /// A type name of a descriptor without its leading dot.
    static func bare(_ typeName: String) -> String { typeName.hasPrefix(".") ? String(typeName.dropFirst()) : typeName }
}
