private import Glibc

/// How many files this process may have open; each connection is one.
public enum OpenFiles {
    /// What the units of systemd allow too.
    private static let enough = 65_536
    private static let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

    /// Makes use of what the operator allows. Shells and containers often begin with a limit of 1,024 that every process may
    /// raise by itself: a gateway would be full with a thousand idle clients.
    public static func allowMany() {
        guard var limit = current else { return }
        let wanted = wanted(now: limit.rlim_cur, atMost: limit.rlim_max)
        guard wanted > limit.rlim_cur else { return }
        limit.rlim_cur = wanted
        setrlimit(files, &limit)
    }

    /// The limit to ask for; never less than the present one, which an operator may have chosen.
    static func wanted(now: UInt, atMost hard: UInt) -> UInt { max(now, min(hard, UInt(enough))) }

    /// How many connections fit: a quarter of the files is left for what they ask for, and for the bus.
    public static func connections(atMost wanted: Int) -> Int {
        current.map { connections(atMost: wanted, of: $0.rlim_cur) } ?? wanted
    }

    static func connections(atMost wanted: Int, of files: UInt) -> Int { min(wanted, max(1, Int(clamping: files / 4 * 3))) }

    private static var current: rlimit? {
        var limit = rlimit()
        return getrlimit(files, &limit) == 0 ? limit : nil
    }
}
