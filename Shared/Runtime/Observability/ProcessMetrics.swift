private import Glibc

/// What the operating system says of this process, in the names Prometheus expects.
enum ProcessMetrics {
    /// Shows them on a page, and which version this is.
    static func add(to metrics: Metrics) {
        metrics.measured("process_cpu_seconds_total", isCounter: true, help: "User and system time.", cpuSeconds)
        metrics.measured("process_resident_memory_bytes", help: "Resident memory.") { pages(1) }
        metrics.measured("process_virtual_memory_bytes", help: "Address space.") { pages(0) }
        metrics.measured("process_open_fds", help: "Open files.", openFiles)
        metrics.measured("process_max_fds", help: "Files that may be open.", mostFiles)
        let start = startTime()
        metrics.measured("process_start_time_seconds", help: "When the process began, in Unix time.") { start }
        metrics.gauge("streaksnap_build_info", [("version", BuildInfo.version)], help: "What was built; always 1.").set(1)
    }

    private static func cpuSeconds() -> Double? {
        var usage = rusage()
        guard getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 else { return nil }
        return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1_000_000
    }

    /// A column of `statm`: 0 the address space, 1 what is resident.
    private static func pages(_ column: Int) -> Double? {
        let words = words(of: "/proc/self/statm")
        guard words.count > column, let pages = Double(words[column]) else { return nil }
        return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
    }

    private static func openFiles() -> Double? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        // Neither the two names every folder has nor this descriptor count.
        var count = -3
        while readdir(folder) != nil { count += 1 }
        return Double(count)
    }

    private static func mostFiles() -> Double? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        return limit.rlim_cur == rlim_t.max ? nil : Double(limit.rlim_cur)
    }

    private static func startTime() -> Double? {
        // The name in parentheses may hold anything; what counts comes after its end. The start is field 22, in ticks since the boot.
        let stat = text(of: "/proc/self/stat").split(separator: ")").last.map { $0.split(separator: " ") } ?? []
        let boot = text(of: "/proc/stat").split(separator: "\n").first { $0.hasPrefix("btime ") }
        guard stat.count > 19, let ticks = Double(stat[19]), let booted = boot.flatMap({ Double($0.dropFirst(6)) }) else {
            return nil
        }
        return booted + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    private static func words(of path: String) -> [Substring] { text(of: path).split(separator: " ") }

    private static func text(of path: String) -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }
}
