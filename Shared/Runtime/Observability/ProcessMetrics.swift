private import Glibc

/// What the operating system says of this process, in the names Prometheus expects.
enum ProcessMetrics {
    static func text() -> String {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        let seconds =
            Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1_000_000
        return """
            # HELP process_cpu_seconds_total User and system time.
            # TYPE process_cpu_seconds_total counter
            process_cpu_seconds_total \(seconds)
            # HELP process_resident_memory_bytes Resident memory.
            # TYPE process_resident_memory_bytes gauge
            process_resident_memory_bytes \(residentBytes())

            """
    }

    private static func residentBytes() -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 128)
        guard fgets(&buffer, 128, file) != nil else { return 0 }
        let text = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}
