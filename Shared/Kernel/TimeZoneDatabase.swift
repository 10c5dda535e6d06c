private import Synchronization

/// The tz database of the system: its names, and the tables that were used.
///
/// The names are listed once, at the first use, and each table is read once. An unknown name costs one lookup in a set, so clients
/// cannot cause file reads by inventing names, and memory is bounded by what is installed. A newer tz database is used after the
/// next start.
final class TimeZoneDatabase: Sendable {
    /// The database of this machine.
    static let system = TimeZoneDatabase(files: InstalledTimeZones())

    /// No name of the database is longer than 32 bytes.
    private static let longestName = 64

    private struct State {
        /// nil until they have been listed.
        var names: Set<String>?
        var tables: [String: TimeZoneTable] = [:]
    }

    private let files: any TimeZoneFiles
    private let state = Mutex(State())

    init(files: any TimeZoneFiles) { self.files = files }

    /// The table of a name; nil when there is none.
    func table(_ name: String) -> TimeZoneTable? {
        // Checked before any comparison: for Swift, canonically equal texts are equal; for the tz database they are not.
        guard name.utf8.count <= Self.longestName, name.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        if let known = state.withLock({ $0.tables[name] }) { return known }
        guard Self.isName(name) else { return nil }
        let isPossible = state.withLock { state in
            if state.names == nil { state.names = files.names().map { Set($0.filter(Self.isName)) } }
            // Listing failed, for example because no file descriptor was free. The file itself may still exist.
            return state.names?.contains(name) ?? true
        }
        guard isPossible, let bytes = files.bytes(of: name) else { return nil }
        let table = TimeZoneTable(bytes)
        state.withLock { state in
            // A file that is not a table is not read again.
            if let table { state.tables[name] = table } else { state.names?.remove(name) }
        }
        return table
    }

    /// Whether a text can be a name. The folder has other files than zones, and a path could leave it.
    static func isName(_ name: String) -> Bool {
        guard name.utf8.count <= longestName else { return false }
        let parts = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let isPlain = parts.allSatisfy { part in
            !part.isEmpty
                && part.allSatisfy { byte in
                    switch byte {
                    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "+"), UInt8(ascii: "-"):
                        true
                    default: false
                    }
                }
        }
        guard isPlain else { return false }
        guard parts.count > 1, let first = parts.first, let letter = first.first else { return plainNames.contains(name) }
        // "posix" and "right" hold all zones again, the latter with leap seconds.
        return !["posix", "right", "SystemV"].contains(String(first)) && (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(letter)
    }

    /// The tz database's names without a slash.
    private static let plainNames: Set<String> = [
        "CET", "CST6CDT", "Cuba", "EET", "EST", "EST5EDT", "Egypt", "Eire", "GB", "GB-Eire", "GMT", "GMT+0", "GMT-0", "GMT0",
        "Greenwich", "HST", "Hongkong", "Iceland", "Iran", "Israel", "Jamaica", "Japan", "Kwajalein", "Libya", "MET", "MST",
        "MST7MDT", "NZ", "NZ-CHAT", "Navajo", "PRC", "PST8PDT", "Poland", "Portugal", "ROC", "ROK", "Singapore", "Turkey", "UCT",
        "Universal", "W-SU", "WET", "Zulu",
    ]
}

/// Where compiled tables come from.
protocol TimeZoneFiles: Sendable {
    /// The names of all files, with their folders; not all need to be tables. nil when they cannot all be listed.
    func names() -> [String]?
    /// The bytes of a file; nil when it cannot be read.
    func bytes(of name: String) -> [UInt8]?
}
