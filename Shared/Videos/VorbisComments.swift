private import Glibc

/// The texts in the headers of a track of Vorbis, which are copied with the track: the encoder's name, and whatever a program has written, a
/// title, a place, a picture.
enum VorbisComments {
    /// Overwrites them with spaces. Everything stays where it is, and decoders read no more than their lengths. A file without any is not
    /// changed.
    ///
    /// - Throws: `STORAGE_FULL` when the file cannot be written.
    static func erase(from path: String) throws {
        let file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        var status = stat()
        guard file >= 0, fstat(file, &status) == 0 else { throw Workspace.failure }
        defer { close(file) }
        let size = Int(status.st_size)
        guard size > 0 else { return }
        guard let start = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), start != MAP_FAILED else {
            throw Workspace.failure
        }
        defer { munmap(start, size) }
        erase(UnsafeMutableRawBufferPointer(start: start, count: size))
    }

    /// The second header begins with its number and the name of the codec (Vorbis I, 4.2.1); what follows are texts with their lengths (5.2.1).
    static func erase(_ bytes: UnsafeMutableRawBufferPointer) {
        guard let start = bytes.baseAddress, var position = place(in: UnsafeRawBufferPointer(bytes)) else { return }
        func number() -> Int? {
            guard position + 4 <= bytes.count else { return nil }
            defer { position += 4 }
            return (0..<4).reduce(0) { $0 | Int(bytes[position + $1]) << (8 * $1) }
        }
        func eraseText() -> Bool {
            guard let length = number(), length <= bytes.count - position else { return false }
            memset(start + position, 32, length)
            position += length
            return true
        }
        guard eraseText(), let count = number() else { return }
        for _ in 0..<count { guard eraseText() else { return } }
    }

    /// Where the texts begin.
    private static func place(in bytes: UnsafeRawBufferPointer) -> Int? {
        let mark: [UInt8] = [3] + Array("vorbis".utf8)
        var position = 0
        while let start = bytes.baseAddress, let found = memchr(start + position, 3, bytes.count - position) {
            position = UnsafeRawPointer(found) - start
            guard bytes.count - position > mark.count else { return nil }
            if memcmp(found, mark, mark.count) == 0 { return position + mark.count }
            position += 1
        }
        return nil
    }
}
