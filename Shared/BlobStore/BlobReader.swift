private import Glibc
internal import Kernel

/// An open file of a blob; closed when it is released.
final class BlobReader: Sendable {
    let size: Int64
    let modified: Instant
    private let descriptor: Int32
    private let path: String

    init(_ path: String) throws(FileError) {
        let descriptor = try FileSystem.open(path)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw FileError(call: "open", path: path, code: ENOENT)
        }
        self.descriptor = descriptor
        self.path = path
        self.size = Int64(status.st_size)
        self.modified = status.modified
    }

    deinit { close(descriptor) }

    /// Up to `count` bytes; empty at the end.
    func read(at offset: Int64, count: Int) throws(FileError) -> [UInt8] {
        var failure: FileError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            var result = pread(descriptor, buffer.baseAddress, count, Int(offset))
            while result < 0 && errno == EINTR { result = pread(descriptor, buffer.baseAddress, count, Int(offset)) }
            if result < 0 { failure = .last("read", path) }
            initialized = max(0, result)
        }
        if let failure { throw failure }
        return bytes
    }
}

/// Lists the folders of a store, in the order of keys.
struct BlobListing {
    let root: String
    let prefix: String
    let after: String?
    let limit: Int
    private(set) var found: [BlobInfo] = []

    init(root: String, prefix: String, after: String?, limit: Int) {
        self.root = root
        self.prefix = prefix
        self.after = after
        self.limit = limit
    }

    /// Adds the blobs of a folder. `place` is empty or ends with a slash.
    mutating func walk(_ place: String) throws(FileError) {
        let entries: [(name: String, isFolder: Bool)]
        do {
            entries = try FileSystem.entries(of: "\(root)/\(place)")
        } catch {
            // The folder was deleted meanwhile, or the store has not been used yet.
            if error.code == ENOENT { return }
            throw error
        }
        // With its slash, a folder sorts like the keys inside it.
        let ordered = entries.filter { BlobKey.isSegment($0.name[...].utf8) }
            .map { (text: place + $0.name + ($0.isFolder ? "/" : ""), isFolder: $0.isFolder) }
            .sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }
        for (text, isFolder) in ordered {
            guard found.count < limit else { return }
            if isFolder {
                guard text.hasPrefix(prefix) || prefix.hasPrefix(text) else { continue }
                if let after, !after.hasPrefix(text), text.utf8.lexicographicallyPrecedes(after.utf8) { continue }
                try walk(text)
            } else if text.hasPrefix(prefix), after.map({ $0.utf8.lexicographicallyPrecedes(text.utf8) }) ?? true {
                var status = stat()
                guard stat("\(root)/\(text)", &status) == 0, let key = try? BlobKey(text) else { continue }
                found.append(BlobInfo(key: key, size: Int64(status.st_size), modified: status.modified))
            }
        }
    }
}
