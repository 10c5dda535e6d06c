public import Foundation

/// What the kernel says of processes (proc(5)).
public enum ProcessFiles {
    /// A file of a process, whole; empty when there is no such process.
    ///
    /// Foundation takes the first read of such a file, which ends after at most a page, for all of it.
    public static func text(_ process: pid_t, _ name: String) -> String {
        guard let file = fopen("/proc/\(process)/\(name)", "re") else { return "" }
        defer { fclose(file) }
        var (bytes, part) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 16))
        while case let count = fread(&part, 1, part.count, file), count > 0 { bytes += part[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }
}
