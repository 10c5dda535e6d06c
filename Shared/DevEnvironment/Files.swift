internal import Glibc

/// Small files and folders of the environment.
enum Files {
    /// The text of an errno.
    static func reason(_ code: Int32) -> String {
        var text = [CChar](repeating: 0, count: 128)
        strerror_r(code, &text, text.count)
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Makes a folder and those above it.
    static func makeFolder(_ path: String, mode: mode_t = 0o755) throws(DevEnvironmentError) {
        if mkdir(path, mode) == 0 || errno == EEXIST { return }
        if errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
            try makeFolder(String(path[..<slash]))
            if mkdir(path, mode) == 0 || errno == EEXIST { return }
        }
        throw DevEnvironmentError(
            "The folder \(path) cannot be made: \(reason(errno)).",
            wayOut: "Give its parent to the user who runs this, or choose another data folder with --data."
        )
    }

    /// Makes a folder that others may not read, and closes one that is there, unless it is one for all, such as /tmp.
    ///
    /// - Parameter isPassable: whether others may go through it to what is theirs, whose names they must know.
    static func makePrivateFolder(_ path: String, isPassable: Bool = false) throws(DevEnvironmentError) {
        try makeFolder(path)
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_ISVTX == 0 else { return }
        chmod(path, isPassable ? 0o711 : 0o700)
    }

    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// The text of a small file without white space at its ends.
    static func read(_ path: String) throws(DevEnvironmentError) -> String {
        guard let file = fopen(path, "re") else {
            throw DevEnvironmentError(
                "\(path) cannot be read: \(reason(errno)).",
                wayOut: "Give it to the user who runs this, or remove it to have it made anew."
            )
        }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = fread(&bytes, 1, bytes.count, file)
        let text = Substring(decoding: bytes[..<count], as: UTF8.self)
        return String(text.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
    }

    /// Writes a file whole or not at all.
    static func write(_ text: String, to path: String, mode: mode_t) throws(DevEnvironmentError) {
        let temporary = path + ".new"
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        var isWritten = descriptor >= 0
        if isWritten {
            isWritten = text.withCString { Glibc.write(descriptor, $0, strlen($0)) } == text.utf8.count && fsync(descriptor) == 0
            close(descriptor)
        }
        guard isWritten, rename(temporary, path) == 0 else {
            throw DevEnvironmentError(
                "\(path) cannot be written: \(reason(errno)).",
                wayOut: "Make room on the disk, or give the folder to the user who runs this."
            )
        }
    }

    /// The last lines of a log, for an error message.
    static func tail(_ path: String, lines: Int = 8) -> String {
        guard let file = fopen(path, "re") else { return "" }
        defer { fclose(file) }
        fseek(file, 0, SEEK_END)
        fseek(file, max(0, ftell(file) - 4096), SEEK_SET)
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n").suffix(lines).joined(separator: "\n")
    }

    /// Keeps one older log beside the current one.
    static func rotate(_ path: String, limit: Int = 16 << 20) {
        var status = stat()
        if stat(path, &status) == 0, status.st_size > limit { rename(path, path + ".1") }
    }
}
