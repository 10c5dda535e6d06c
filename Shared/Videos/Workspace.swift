private import Cryptography
internal import Glibc
internal import Kernel
private import Synchronization

/// A folder of its own for one video, which is deleted with it. It is locked while it is used, which distinguishes it from one that a crash
/// left behind.
final class Workspace: Sendable {
    private static let prefix = "streaksnap-video-"

    let path: String
    private let lock: Int32

    /// The upload.
    var source: String { "\(path)/in" }

    /// - Throws: `UNAVAILABLE` when the folder cannot be made.
    init(in folder: String) throws {
        var template = Array("\(folder)/\(Self.prefix)XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Self.failure }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard lock >= 0, flock(lock, LOCK_EX | LOCK_NB) == 0 else { throw Self.failure }
    }

    deinit {
        Self.remove(path)
        close(lock)
    }

    /// Whether a file with something in it is there.
    func has(_ name: String) -> Bool { size(of: name) > 0 }

    /// Bytes of a file; 0 when there is none.
    func size(of name: String) -> Int64 {
        var status = stat()
        return stat("\(path)/\(name)", &status) == 0 ? Int64(status.st_size) : 0
    }

    /// The bytes of a small file.
    ///
    /// - Parameter limit: what follows is left out.
    func read(_ name: String, limit: Int) -> [UInt8] {
        guard let file = OpenFile("\(path)/\(name)") else { return [] }
        var bytes: [UInt8] = []
        while bytes.count < limit, let more = file.next(limit - bytes.count) { bytes += more }
        return bytes
    }

    /// Deletes the folders of processes that have died.
    static func sweep(_ folder: String) {
        guard let entries = opendir(folder) else { return }
        defer { closedir(entries) }
        while let entry = readdir(entries) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            guard name.hasPrefix(prefix) else { continue }
            let path = "\(folder)/\(name)"
            let lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
            guard lock >= 0 else { continue }
            if flock(lock, LOCK_EX | LOCK_NB) == 0 { remove(path) }
            close(lock)
        }
    }

    private static func remove(_ path: String) {
        if let entries = opendir(path) {
            while let entry = readdir(entries) {
                let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
                if name != ".", name != ".." { unlink("\(path)/\(name)") }
            }
            closedir(entries)
        }
        rmdir(path)
    }

    static let failure = ServiceError(
        .unavailable,
        "STORAGE_FULL",
        "There is no room left to process videos.",
        retryAfter: 60
    )
}

/// A file that is read from its start, by one task at a time.
final class OpenFile: Sendable {
    private let descriptor: Int32
    private let offset = Mutex<Int>(0)

    /// nil when it cannot be opened.
    init?(_ path: String) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
    }

    deinit { close(descriptor) }

    /// The next bytes; nil at the end.
    func next(_ most: Int = 128 << 10) -> [UInt8]? {
        let bytes = [UInt8](unsafeUninitializedCapacity: most) { [descriptor] buffer, count in
            let place = offset.withLock { $0 }
            var got = pread(descriptor, buffer.baseAddress, most, place)
            while got < 0 && errno == EINTR { got = pread(descriptor, buffer.baseAddress, most, place) }
            count = max(0, got)
        }
        offset.withLock { $0 += bytes.count }
        return bytes.isEmpty ? nil : bytes
    }
}

/// The upload, while it is written into a workspace.
final class SourceFile: Sendable {
    private struct State: ~Copyable {
        var hasher = SHA256()
        var size: Int64 = 0
    }

    private let descriptor: Int32
    private let state = Mutex(State())

    /// - Throws: `STORAGE_FULL` when it cannot be made.
    init(_ path: String) throws {
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Workspace.failure }
    }

    deinit { close(descriptor) }

    /// Appends bytes.
    ///
    /// - Throws: `STORAGE_FULL` when they cannot be written.
    func write(_ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { bytes in
            try state.withLock { state in
                state.hasher.update(bufferPointer: bytes)
                state.size += Int64(bytes.count)
                var rest = bytes[...]
                while !rest.isEmpty {
                    let written = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                    if written < 0 && errno == EINTR { continue }
                    guard written > 0 else { throw Workspace.failure }
                    rest = rest.dropFirst(written)
                }
            }
        }
    }

    /// How many bytes there are, and their SHA-256.
    func finish() -> (size: Int64, sha256: [UInt8]) { state.withLock { ($0.size, Array($0.hasher.finalize())) } }
}
