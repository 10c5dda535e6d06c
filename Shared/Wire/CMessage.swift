internal import CProtobufC

/// A message that has a twin: the C struct that protoc-c generated for it. Only generated code conforms.
///
/// Decoding goes bytes → check (`Layout`) → libprotobuf-c → C struct in an arena → Swift value; encoding the same way back.
public protocol CMessage: Message {
    /// The C descriptor of the twin.
    static var layout: MessageLayout { get }
    /// A value from the twin at `stored`, which stays with the caller.
    ///
    /// - Parameter unreadable: what becomes of a text that is no id or date although it should be one.
    init(stored: UnsafeRawPointer, _ unreadable: UnreadableText) throws(WireError)
    /// The twin of this value in `arena`, as libprotobuf-c packs it.
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
    public init(serialized bytes: UnsafeRawBufferPointer) throws { try self.init(bytes, .refused) }

    public init(request bytes: UnsafeRawBufferPointer) throws {
        try self.init(bytes, .marked)
        // No mark gets past this.
        try validate()
    }

    private init(_ bytes: UnsafeRawBufferPointer, _ unreadable: UnreadableText) throws {
        let layout = Self.layout
        guard bytes.count <= WireLimits.maxBytes else { throw WireError.tooLarge }
        try WireCheck(bytes).run(layout.descriptor)
        // Delegation writes the value where the caller wants it; a closure's result would be copied field by field.
        let arena = Arena.borrow()
        defer { arena.giveBack() }
        let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        guard let stored = protobuf_c_message_unpack(layout.descriptor, arena.allocator, bytes.count, start) else {
            throw arena.state.pointee.isExhausted ? WireError.tooLarge : WireError.malformed
        }
        try self.init(stored: stored, unreadable)
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
