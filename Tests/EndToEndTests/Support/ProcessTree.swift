import Foundation
import TestSupport

/// What the kernel knows of processes.
enum ProcessTree {
    /// The processes that a process has started and that run.
    static func children(of process: pid_t) -> [pid_t] {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        return threads.flatMap { thread in
            ProcessFiles.text(process, "task/\(thread)/children").split(separator: " ").compactMap { pid_t($0) }
        }
    }

    /// Its name, of which the kernel keeps 15 bytes; empty when it does not run.
    static func name(of process: pid_t) -> String {
        ProcessFiles.text(process, "comm").trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The bytes of memory that it had at most; nil when it does not run.
    static func mostMemory(of process: pid_t) -> Int? {
        let lines = ProcessFiles.text(process, "status").split(separator: "\n")
        guard let line = lines.first(where: { $0.hasPrefix("VmHWM:") }) else { return nil }
        let words = line.split(separator: "\t").last?.split(separator: " ")
        guard let kibibytes = words?.first.flatMap({ Int($0) }) else { return nil }
        return kibibytes * 1_024
    }

    /// The variables it was started with.
    static func environment(of process: pid_t) -> [String: String] {
        let entries = ProcessFiles.text(process, "environ").split(separator: "\0")
        let pairs = entries.compactMap { text -> (String, String)? in
            text.firstIndex(of: "=").map { (String(text[..<$0]), String(text[text.index(after: $0)...])) }
        }
        return Dictionary(pairs) { $1 }
    }
}
