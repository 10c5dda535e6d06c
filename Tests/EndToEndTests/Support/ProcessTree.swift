import Foundation

/// What the kernel knows of processes.
enum ProcessTree {
    /// The processes that a process has started and that run.
    static func children(of process: pid_t) -> [pid_t] {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        return threads.flatMap { thread in
            text("/proc/\(process)/task/\(thread)/children").split(separator: " ").compactMap { pid_t($0) }
        }
    }

    /// Its name, of which the kernel keeps 15 bytes; empty when it does not run.
    static func name(of process: pid_t) -> String { text("/proc/\(process)/comm") }

    private static func text(_ path: String) -> String { Files.text(URL(filePath: path)) ?? "" }
}
