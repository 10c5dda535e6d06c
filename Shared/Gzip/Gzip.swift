private import CZlib

/// Compresses whole contents as gzip (RFC 1952).
public enum Gzip {
    /// The content as one gzip member; nil when zlib has no memory for it.
    public static func compress(_ content: [UInt8]) -> [UInt8]? {
        var stream = z_stream()
        // 15 is the largest window, 16 asks for gzip instead of zlib's own format; 8 is zlib's standard for memory.
        let opened = deflateInit2_(
            &stream,
            Z_DEFAULT_COMPRESSION,
            Z_DEFLATED,
            15 + 16,
            8,
            Z_DEFAULT_STRATEGY,
            zlibVersion(),
            Int32(MemoryLayout<z_stream>.size)
        )
        guard opened == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(content.count))))
        let written = content.withUnsafeBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output -> Int? in
                // zlib only reads from it.
                stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                return deflate(&stream, Z_FINISH) == Z_STREAM_END ? output.count - Int(stream.avail_out) : nil
            }
        }
        guard let written else { return nil }
        output.removeLast(output.count - written)
        return output
    }
}
