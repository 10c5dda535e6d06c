internal import CMessageLayouts
internal import CProtobufC
internal import Glibc

/// A message that libprotobuf-c reads and writes. Only generated code conforms.
///
/// Decoding goes bytes → check (`WireCheck`) → libprotobuf-c → words in an arena (`MessageLayout`) → Swift value; encoding the same
/// way back.
public protocol CMessage: Message {
    /// How the message lies in memory for libprotobuf-c.
    static var layout: MessageLayout { get }
    /// A value from its words. What is wrong with them is noted in the arena, and thrown when all is read.
    init(_ reader: Reader)
    /// Fills the words, which are zero before.
    func write(_ writer: Writer)
}

/// The layouts of all messages of a descriptor set, which live as long as the process.
public struct MessageLayouts: @unchecked Sendable {
    fileprivate let pointer: OpaquePointer?

    /// - Parameter descriptorSet: a serialized google.protobuf.FileDescriptorSet with its imports.
    public init(_ descriptorSet: [UInt8]) { pointer = message_layouts_build(descriptorSet, descriptorSet.count) }
}

/// How a message type lies in memory for libprotobuf-c. Its fields are known by their place in the order of their numbers.
public struct MessageLayout: @unchecked Sendable {
    /// The type's full proto name.
    public let fullName: String
    private let descriptor: UnsafeRawPointer

    /// - Parameters:
    ///   - fullName: the message's full proto name, which the set must have: otherwise the process ends.
    ///   - layouts: those of the set that the message's code was generated from.
    public init(_ fullName: String, in layouts: MessageLayouts) {
        self.fullName = fullName
        descriptor = UnsafeRawPointer(message_layouts_require(layouts.pointer, fullName))
    }

    var pointer: UnsafePointer<ProtobufCMessageDescriptor> { descriptor.assumingMemoryBound(to: ProtobufCMessageDescriptor.self) }
}

extension CMessage {
    public static var fullName: String { layout.fullName }

    public init(serialized bytes: UnsafeRawBufferPointer) throws { try self.init(bytes, .strict) }

    public init(request bytes: UnsafeRawBufferPointer) throws {
        try self.init(bytes, .marking)
        // No mark gets past this.
        try validate()
    }

    public init(refused bytes: UnsafeRawBufferPointer, _ standIn: StandIn) throws { try self.init(bytes, .refused(standIn)) }

    private init(_ bytes: UnsafeRawBufferPointer, _ mode: Arena.Mode) throws {
        let descriptor = Self.layout.pointer
        guard bytes.count <= WireLimits.maxBytes else { throw WireError.tooLarge }
        try WireCheck(bytes).run(descriptor)
        // Delegation writes the value where the caller wants it; a closure's result would be copied field by field.
        let arena = Arena.borrow(mode)
        defer { arena.giveBack() }
        let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        guard let stored = protobuf_c_message_unpack(descriptor, arena.allocator, bytes.count, start) else {
            throw arena.state.pointee.isExhausted ? WireError.tooLarge : WireError.malformed
        }
        self.init(Reader(UnsafeRawPointer(stored), arena))
        if let failure = arena.state.pointee.failure { throw failure.error }
    }

    public func serialized() throws -> [UInt8] {
        let arena = Arena.borrow(.strict)
        defer { arena.giveBack() }
        let stored = stored(in: arena)
        if let failure = arena.state.pointee.failure { throw failure.error }
        let size = protobuf_c_message_get_packed_size(stored)
        guard size <= WireLimits.maxBytes else { throw WireError.tooLarge }
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            count = size == 0 ? 0 : protobuf_c_message_pack(stored, buffer.baseAddress)
        }
    }

    /// Whether the messages have the same bytes: no message needs code of its own for that. Texts are compared byte by byte, numbers
    /// bit by bit.
    public static func == (left: Self, right: Self) -> Bool {
        let arena = Arena.borrow(.comparing)
        defer { arena.giveBack() }
        let (left, right) = (left.packed(in: arena), right.packed(in: arena))
        return left.size == right.size && memcmp(left.start, right.start, left.size) == 0
    }

    private func stored(in arena: Arena) -> UnsafePointer<ProtobufCMessage> {
        let writer = Writer(arena, Self.layout.pointer)
        write(writer)
        return UnsafePointer(writer.base.assumingMemoryBound(to: ProtobufCMessage.self))
    }

    private func packed(in arena: Arena) -> (start: UnsafeMutableRawPointer, size: Int) {
        let stored = stored(in: arena)
        let size = protobuf_c_message_get_packed_size(stored)
        let memory = arena.take(max(size, 1))
        if size > 0 { protobuf_c_message_pack(stored, memory.assumingMemoryBound(to: UInt8.self)) }
        return (memory, size)
    }

    /// A message without rules, also in its fields, breaks none.
    public func collectViolations(into _: inout Violations, path _: FieldPath) {}
}
