internal import CDescriptor
internal import CProtobufC

/// Makes a FileDescriptorSet that protoc-c accepts and from which it makes the same wire format.
///
/// protoc-c refuses proto3 `optional`: the synthetic oneof of such a field becomes a real one, so presence is kept. Custom options,
/// services and files that only declare them are removed, because C does not need them.
enum Cleaner {
    private static let dropped = ["google/api/", "google/protobuf/descriptor.proto", "streaksnap/options/"]

    static func clean(_ bytes: [UInt8]) throws -> [UInt8] {
        let set = try unpack(bytes, google__protobuf__file_descriptor_set__init)
        var kept = list(set.pointee.file, set.pointee.n_file).filter { file in !isDropped(text(file.pointee.name)) }
            .map { Optional($0) }
        for case let file? in kept { clean(file) }
        return kept.withUnsafeMutableBufferPointer { files in
            set.pointee.file = files.baseAddress
            set.pointee.n_file = files.count
            return pack(set)
        }
    }

    private static func isDropped(_ name: String) -> Bool { dropped.contains { name.hasPrefix($0) } }

    private static func clean(_ file: UnsafeMutablePointer<Google__Protobuf__FileDescriptorProto>) {
        var kept = 0
        for index in 0..<file.pointee.n_dependency where !isDropped(text(file.pointee.dependency[index])) {
            file.pointee.dependency[kept] = file.pointee.dependency[index]
            kept += 1
        }
        file.pointee.n_dependency = kept
        file.pointee.n_public_dependency = 0
        file.pointee.n_weak_dependency = 0
        file.pointee.n_service = 0
        file.pointee.n_extension = 0
        file.pointee.source_code_info = nil
        file.pointee.options = nil
        for message in list(file.pointee.message_type, file.pointee.n_message_type) { clean(message) }
        for item in list(file.pointee.enum_type, file.pointee.n_enum_type) { clean(item) }
    }

    private static func clean(_ message: UnsafeMutablePointer<Google__Protobuf__DescriptorProto>) {
        for field in list(message.pointee.field, message.pointee.n_field) {
            field.pointee.has_proto3_optional = 0
            dropCustom(&field.pointee.options)
        }
        dropCustom(&message.pointee.options)
        for oneof in list(message.pointee.oneof_decl, message.pointee.n_oneof_decl) { dropCustom(&oneof.pointee.options) }
        for nested in list(message.pointee.nested_type, message.pointee.n_nested_type) { clean(nested) }
        for item in list(message.pointee.enum_type, message.pointee.n_enum_type) { clean(item) }
    }

    private static func clean(_ item: UnsafeMutablePointer<Google__Protobuf__EnumDescriptorProto>) {
        dropCustom(&item.pointee.options)
        for value in list(item.pointee.value, item.pointee.n_value) { dropCustom(&value.pointee.options) }
    }

    /// Custom options are unknown fields of the options message.
    private static func dropCustom<Options>(_ options: inout UnsafeMutablePointer<Options>?) {
        guard let options else { return }
        UnsafeMutableRawPointer(options).assumingMemoryBound(to: ProtobufCMessage.self).pointee.n_unknown_fields = 0
    }
}
