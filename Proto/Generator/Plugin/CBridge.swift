internal import CProtobufC

// Conversions between C structs and Swift values. The plugin runs for one request, so nothing is freed.

/// Unpacks a message of the type that `prototype` was initialised as.
func unpack<Twin>(_ bytes: [UInt8], _ initialise: (UnsafeMutablePointer<Twin>) -> Void) throws -> UnsafeMutablePointer<Twin> {
    let prototype = UnsafeMutablePointer<Twin>.allocate(capacity: 1)
    initialise(prototype)
    let descriptor = UnsafeRawPointer(prototype).assumingMemoryBound(to: ProtobufCMessage.self).pointee.descriptor
    guard let message = protobuf_c_message_unpack(descriptor, nil, bytes.count, bytes) else {
        throw GeneratorError("the input is not what protoc sends")
    }
    return UnsafeMutableRawPointer(message).assumingMemoryBound(to: Twin.self)
}

/// The bytes of any C message.
func pack<Twin>(_ message: UnsafeMutablePointer<Twin>) -> [UInt8] {
    let message = UnsafeRawPointer(message).assumingMemoryBound(to: ProtobufCMessage.self)
    let size = protobuf_c_message_get_packed_size(message)
    return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
        count = size == 0 ? 0 : protobuf_c_message_pack(message, buffer.baseAddress)
    }
}

/// A C string as a Swift string; empty when unset.
func text(_ pointer: UnsafeMutablePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }

/// The elements of a repeated message.
func list<Twin>(_ pointer: UnsafeMutablePointer<UnsafeMutablePointer<Twin>?>?, _ count: Int) -> [UnsafeMutablePointer<Twin>] {
    UnsafeBufferPointer(start: pointer, count: pointer == nil ? 0 : count).compactMap { $0 }
}

/// A Swift string as a C string.
func cText(_ text: String) -> UnsafeMutablePointer<CChar> {
    let bytes = Array(text.utf8CString)
    let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
    copy.initialize(from: bytes, count: bytes.count)
    return copy
}
