private import CZlib

/// Raw deflate (RFC 1951) by zlib.
enum Inflate {
    /// Unpacks bytes that must come to exactly `size` bytes; no more than that is ever written.
    ///
    /// - Throws: `corrupt` for damaged bytes, and for any other size.
    static func content(of packed: ArraySlice<UInt8>, size: Int) throws(ZipError) -> [UInt8] {
        guard packed.count <= Int(UInt32.max), size <= Int(UInt32.max) - 1 else { throw .tooLarge }
        var stream = z_stream()
        // -15: the largest window, without a header.
        guard inflateInit2_(&stream, -15, zlibVersion(), Int32(MemoryLayout<z_stream>.size)) == Z_OK else { throw .corrupt }
        defer { inflateEnd(&stream) }
        // One byte more than announced, so that a longer content is seen.
        var output = [UInt8](repeating: 0, count: size + 1)
        let (result, written) = packed.withUnsafeBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output -> (Int32, Int) in
                // zlib only reads from it.
                stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                let result = inflate(&stream, Z_FINISH)
                return (result, output.count - Int(stream.avail_out))
            }
        }
        guard result == Z_STREAM_END, written == size, stream.avail_in == 0 else { throw .corrupt }
        output.removeLast()
        return output
    }

    /// CRC-32.
    static func checksum(_ content: [UInt8]) -> UInt32 {
        content.withUnsafeBufferPointer { UInt32(truncatingIfNeeded: crc32_z(0, $0.baseAddress, $0.count)) }
    }
}
