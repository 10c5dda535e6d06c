internal import Glibc

/// A failed call of the operating system.
struct FileError: Error, CustomStringConvertible {
    let call: String
    let path: String
    let code: Int32

    /// The failed call, with the reason from errno.
    static func last(_ call: String, _ path: String) -> FileError { FileError(call: call, path: path, code: errno) }

    var description: String {
        var reason = [CChar](repeating: 0, count: 128)
        strerror_r(code, &reason, reason.count)
        return "\(call) \(path): \(String(decoding: reason.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))"
    }
}

/// The calls for a local store; all of them block.
enum FileSystem {
    /// Opens for reading.
    static func open(_ path: String, _ flags: Int32 = O_RDONLY) throws(FileError) -> Int32 {
        let descriptor = Glibc.open(path, flags | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw .last("open", path) }
        return descriptor
    }

    /// Makes the entries of a folder durable. A folder that was deleted meanwhile is no error.
    static func syncFolder(_ path: String) throws(FileError) {
        let descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
        if descriptor < 0 && errno == ENOENT { return }
        guard descriptor >= 0 else { throw .last("open", path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .last("fsync", path) }
    }

    /// Creates a folder and its parents, durably. Others than its owner and group may not enter it: not everything in it is public.
    static func makeFolder(_ path: String) throws(FileError) {
        if mkdir(path, 0o750) == 0 { return try syncFolder(parent(of: path)) }
        switch errno {
        case EEXIST:
            var status = stat()
            guard stat(path, &status) == 0 else { throw .last("stat", path) }
            guard status.st_mode & S_IFMT == S_IFDIR else { throw FileError(call: "mkdir", path: path, code: ENOTDIR) }
        case ENOENT where parent(of: path) != path:
            try makeFolder(parent(of: path))
            // Another process may be creating the same folder.
            guard mkdir(path, 0o750) == 0 || errno == EEXIST else { throw .last("mkdir", path) }
            try syncFolder(parent(of: path))
        default: throw .last("mkdir", path)
        }
    }

    /// The path up to its last slash.
    static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The entries of a folder: the name, and whether it is a folder.
    static func entries(of path: String) throws(FileError) -> [(name: String, isFolder: Bool)] {
        guard let folder = opendir(path) else { throw .last("opendir", path) }
        defer { closedir(folder) }
        var entries: [(name: String, isFolder: Bool)] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            var type = Int32(entry.pointee.d_type)
            if type == Int32(DT_UNKNOWN) {
                var status = stat()
                guard lstat("\(path)/\(name)", &status) == 0 else { continue }
                type = status.st_mode & S_IFMT == S_IFDIR ? Int32(DT_DIR) : Int32(DT_REG)
            }
            entries.append((name, type == Int32(DT_DIR)))
        }
        return entries
    }
}
