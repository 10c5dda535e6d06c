private import Glibc

/// Text for the person at the terminal: help, versions and why a process did not start.
public enum Console {
    /// Writes to standard output.
    public static func out(_ text: String) { write(text, STDOUT_FILENO) }

    /// Writes to standard error.
    public static func error(_ text: String) { write(text, STDERR_FILENO) }

    /// The process's environment.
    public static func environment() -> [String: String] {
        var result: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            let parts = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { result[String(parts[0])] = String(parts[1]) }
            entry += 1
        }
        return result
    }

    private static func write(_ text: String, _ descriptor: Int32) {
        Array(text.utf8).withUnsafeBytes { bytes in
            var sent = 0
            while sent < bytes.count {
                let count = Glibc.write(descriptor, bytes.baseAddress?.advanced(by: sent), bytes.count - sent)
                guard count > 0 else { return }
                sent += count
            }
        }
    }
}
