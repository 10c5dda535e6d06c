private import Cryptography
internal import Glibc
internal import OutgoingHTTP
private import Synchronization

/// An upload on its way to S3, which needs size and hash before the first byte. A small one stays in memory. A larger one is a file
/// without a name, which disappears when it is released or the process dies.
final class Spool: OutgoingBody {
    private struct State: ~Copyable {
        var hasher = SHA256()
        var memory: [UInt8] = []
        var descriptor: Int32 = -1
        var size: Int64 = 0
    }

    private let folder: String
    private let state = Mutex(State())

    init(folder: String) { self.folder = folder }

    deinit { state.withLock { if $0.descriptor >= 0 { close($0.descriptor) } } }

    var size: Int64 { state.withLock { $0.size } }

    /// Keeps the bytes in memory; only for a whole small upload.
    func keep(_ bytes: [UInt8]) {
        state.withLock { state in
            state.hasher.update(data: bytes)
            state.memory = bytes
            state.size = Int64(bytes.count)
        }
    }

    /// Appends to the file.
    func write(_ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { bytes in
            try state.withLock { state in
                if state.descriptor < 0 { state.descriptor = try Self.makeFile(folder) }
                state.hasher.update(bufferPointer: bytes)
                state.size += Int64(bytes.count)
                var rest = bytes[...]
                while !rest.isEmpty {
                    let written = Glibc.write(state.descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                    if written < 0 && errno == EINTR { continue }
                    guard written > 0 else { throw FileError.last("write", folder) }
                    rest = rest.dropFirst(written)
                }
            }
        }
    }

    /// SHA-256 of everything.
    func finish() -> [UInt8] { state.withLock { Array($0.hasher.finalize()) } }

    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        state.withLock { state in
            let rest = state.size - offset
            guard rest > 0 else { return 0 }
            let count = min(buffer.count, Int(rest))
            guard state.descriptor >= 0 else {
                state.memory.withUnsafeBytes {
                    buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[Int(offset)..<Int(offset) + count]))
                }
                return count
            }
            var result = pread(state.descriptor, buffer.baseAddress, count, Int(offset))
            while result < 0 && errno == EINTR { result = pread(state.descriptor, buffer.baseAddress, count, Int(offset)) }
            return result > 0 ? result : nil
        }
    }

    /// Checks that files can be created.
    static func check(_ folder: String) throws { close(try makeFile(folder)) }

    private static func makeFile(_ folder: String) throws(FileError) -> Int32 {
        var template = Array("\(folder)/streaksnap-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw .last("mkstemp", folder) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = template.withUnsafeBufferPointer { $0.baseAddress.map { unlink($0) } }
        return descriptor
    }
}
