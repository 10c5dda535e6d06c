private import Cryptography
internal import Glibc
internal import Kernel
private import Synchronization

/// A file that is being written: hidden from readers until `commit`, deleted when it is released without.
///
/// It is locked while it is open, which distinguishes it from a file that a crash left behind.
final class BlobWriter: Sendable {
    private struct State: ~Copyable {
        var descriptor: Int32
        var path: String?
        var hasher = SHA256()
        var size: Int64 = 0
    }

    private let state: Mutex<State>

    /// Creates the file in `folder`, and the folder if it is missing.
    init(in folder: String) throws(FileError) {
        try FileSystem.makeFolder(folder)
        while true {
            var template = Array("\(folder)/XXXXXX".utf8CString)
            let descriptor = mkstemp(&template)
            let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard descriptor >= 0 else { throw .last("mkstemp", path) }
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            var status = stat()
            // A sweep may have deleted the file before it was locked: then create another.
            if flock(descriptor, LOCK_EX) == 0, fstat(descriptor, &status) == 0, status.st_nlink > 0 {
                self.state = Mutex(State(descriptor: descriptor, path: path))
                return
            }
            close(descriptor)
        }
    }

    deinit {
        abandon()
        state.withLock { _ = close($0.descriptor) }
    }

    /// Deletes the file, unless it was committed.
    func abandon() {
        state.withLock { state in
            if let path = state.path { unlink(path) }
            state.path = nil
        }
    }

    func write(_ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { bytes in
            try state.withLock { state in
                state.hasher.update(bufferPointer: bytes)
                state.size += Int64(bytes.count)
                var rest = bytes[...]
                while !rest.isEmpty {
                    let written = Glibc.write(state.descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                    if written < 0 && errno == EINTR { continue }
                    guard written > 0 else { throw FileError.last("write", state.path ?? "") }
                    rest = rest.dropFirst(written)
                }
            }
        }
    }

    /// Makes the bytes durable and gives the file its name, replacing any file of that name.
    func commit(to path: String) throws -> (size: Int64, sha256: [UInt8], modified: Instant) {
        try state.withLock { state in
            guard fchmod(state.descriptor, 0o640) == 0, fsync(state.descriptor) == 0 else { throw FileError.last("fsync", path) }
            var status = stat()
            guard fstat(state.descriptor, &status) == 0 else { throw FileError.last("fstat", path) }
            try Self.rename(state.path ?? "", to: path)
            state.path = nil
            return (state.size, Array(state.hasher.finalize()), status.modified)
        }
    }

    /// Renames durably, and creates the folders of the destination.
    static func rename(_ source: String, to destination: String) throws(FileError) {
        let folder = FileSystem.parent(of: destination)
        // Deleting the last blob of a folder deletes the folder, maybe between these calls: then start again.
        for attempt in 1... {
            do throws(FileError) {
                try FileSystem.makeFolder(folder)
                guard Glibc.rename(source, destination) == 0 else { throw FileError.last("rename", destination) }
                return try FileSystem.syncFolder(folder)
            } catch {
                guard error.code == ENOENT, attempt < 100, access(source, F_OK) == 0 else { throw error }
            }
        }
    }

    /// Deletes files that no process is writing any more.
    static func sweep(_ folder: String) throws(FileError) {
        for entry in try FileSystem.entries(of: folder) where !entry.isFolder {
            let path = "\(folder)/\(entry.name)"
            let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
            guard descriptor >= 0 else { continue }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { unlink(path) }
            close(descriptor)
        }
    }
}

extension stat {
    /// The instant of the last write.
    var modified: Instant { Instant(microseconds: Int64(st_mtim.tv_sec) * 1_000_000 + Int64(st_mtim.tv_nsec) / 1_000) }
}
