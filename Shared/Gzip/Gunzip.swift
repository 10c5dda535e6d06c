private import CZlib

/// Why a gzip stream cannot be read.
public enum GunzipError: Error, Equatable {
    /// The bytes are not valid gzip (RFC 1952): a wrong header, damaged data or a wrong checksum.
    case corrupt
    /// The stream ends inside its last member.
    case truncated
    /// The content is larger than the reader's limit.
    case tooLarge
}

/// Reads a gzip stream (RFC 1952) as it arrives; several members in a row are one content.
///
/// For any stream, at most 16 KiB beyond the limit are decompressed before it is refused. Besides the content it uses about 64 KiB
/// of memory.
public struct Gunzip: ~Copyable {
    private static let step = 16 << 10

    private let limit: Int
    private let stream: UnsafeMutablePointer<z_stream>
    private let output: UnsafeMutableBufferPointer<UInt8>
    private var isInsideMember = false

    /// The decompressed bytes so far.
    public private(set) var content: [UInt8] = []

    /// A reader of one stream.
    ///
    /// - Parameter limit: most bytes of content.
    /// - Throws: `GunzipError.corrupt` when zlib has no memory for it.
    public init(limit: Int) throws(GunzipError) {
        self.limit = limit
        self.stream = .allocate(capacity: 1)
        self.output = .allocate(capacity: Self.step)
        stream.initialize(to: z_stream())
        // 15 is the largest window, 16 asks for gzip instead of zlib's own format.
        guard inflateInit2_(stream, 15 + 16, zlibVersion(), Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            stream.deallocate()
            output.deallocate()
            throw .corrupt
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
        output.deallocate()
    }

    /// Adds the next bytes of the stream.
    ///
    /// - Throws: `GunzipError.corrupt`, `GunzipError.tooLarge`. The reader cannot be used after that.
    public mutating func consume(_ bytes: UnsafeRawBufferPointer) throws(GunzipError) {
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
        // zlib only reads from it.
        stream.pointee.next_in = UnsafeMutablePointer(mutating: start.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = UInt32(bytes.count)
        // After a full step zlib may hold more decompressed bytes: call it again.
        var isStepFull = true
        while stream.pointee.avail_in > 0 || (isInsideMember && isStepFull) {
            isInsideMember = true
            let (result, written) = decompressStep()
            guard content.count <= limit else { throw .tooLarge }
            isStepFull = written == Self.step
            switch result {
            case Z_OK: break
            case Z_STREAM_END:
                isInsideMember = false
                guard inflateReset(stream) == Z_OK else { throw .corrupt }
            // Nothing is left inside zlib.
            case Z_BUF_ERROR where stream.pointee.avail_in == 0: return
            default: throw .corrupt
            }
        }
    }

    /// Ends the stream.
    ///
    /// - Throws: `GunzipError.truncated` inside a member.
    public func finish() throws(GunzipError) {
        guard !isInsideMember else { throw .truncated }
    }

    private mutating func decompressStep() -> (result: Int32, written: Int) {
        stream.pointee.next_out = output.baseAddress
        stream.pointee.avail_out = UInt32(Self.step)
        let result = inflate(stream, Z_NO_FLUSH)
        let written = Self.step - Int(stream.pointee.avail_out)
        content.append(contentsOf: UnsafeBufferPointer(rebasing: output[..<written]))
        return (result, written)
    }
}
