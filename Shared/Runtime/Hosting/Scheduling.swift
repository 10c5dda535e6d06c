private import Glibc

/// How the kernel divides the processors among our threads.
public enum Scheduling {
    /// `SCHED_BATCH` of linux/sched.h, which glibc shows to `_GNU_SOURCE` only.
    private static let batch: Int32 = 3

    /// Puts every thread of this process, and all that they start, under `SCHED_BATCH` (sched(7)): a thread that wakes waits for the running one
    /// to pause instead of taking its processor away.
    ///
    /// A request crosses five processes. Under load each message would otherwise interrupt a thread to be handled alone; this way several are
    /// waiting when their reader's turn comes, and a request needs half as many switches. An idle processor is taken at once, as ever.
    /// A process that was started under another policy than the default keeps it: its operator chose.
    public static func preferThroughput() {
        // A thread that has not had its turn in the list may start one that is not in it: repeat until all have changed.
        for _ in 0..<10 where !changeThreads() { continue }
    }

    /// Whether no thread was left to change.
    private static func changeThreads() -> Bool {
        guard let folder = opendir("/proc/self/task") else { return true }
        defer { closedir(folder) }
        var areAllChanged = true
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            guard let thread = pid_t(name), sched_getscheduler(thread) == SCHED_OTHER else { continue }
            var parameters = sched_param()
            // Needs no privilege; where a sandbox refuses it, everything works as before.
            if sched_setscheduler(thread, batch, &parameters) == 0 { areAllChanged = false }
        }
        return areAllChanged
    }
}
