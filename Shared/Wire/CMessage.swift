internal import CProtobufC

/// A message with a twin: the C struct that protoc-c generates for it. Only generated code conforms.
///
/// Decoding goes bytes → check (`Layout`) → libprotobuf-c → C struct in an arena → Swift value; encoding the same way back.
public protocol CMessage: Message {
    /// The C descriptor of the twin.
    static var layout: MessageLayout { get }
    /// A value from the twin at `stored`, which stays with the caller.
    init(stored: UnsafeRawPointer) throws(WireError)
    /// The twin of this value, allocated in `arena`, for libprotobuf-c to pack.
    func store(in arena: Arena) throws(WireError) -> UnsafeMutableRawPointer
}

/// The C descriptor of a message type.
public struct MessageLayout: @unchecked Sendable {
    let descriptor: UnsafePointer<ProtobufCMessageDescriptor>

    /// Wraps a `ProtobufCMessageDescriptor`, which lives as long as the process.
    public init(descriptor: UnsafeRawPointer) {
        self.descriptor = descriptor.assumingMemoryBound(to: ProtobufCMessageDescriptor.self)
    }
}

extension CMessage {
    public init(serialized bytes: UnsafeRawBufferPointer) throws {
        let layout = Self.layout
        guard bytes.count <= WireLimits.maxBytes else { throw WireError.tooLarge }
        try WireCheck(bytes).run(layout.descriptor)
        // Delegation writes the value in place; a closure's result would be copied field by field.
        let arena = Arena.borrow()
        defer { arena.giveBack() }
        let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        guard let stored = protobuf_c_message_unpack(layout.descriptor, arena.allocator, bytes.count, start) else {
            throw arena.state.pointee.isExhausted ? WireError.tooLarge : WireError.malformed
        }
        try self.init(stored: stored)
    }

    public func serialized() throws -> [UInt8] {
        let arena = Arena.borrow()
        defer { arena.giveBack() }
        let stored = try store(in: arena).assumingMemoryBound(to: ProtobufCMessage.self)
        let size = protobuf_c_message_get_packed_size(stored)
        guard size <= WireLimits.maxBytes else { throw WireError.tooLarge }
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            count = size == 0 ? 0 : protobuf_c_message_pack(stored, buffer.baseAddress)
        }
    }
}
