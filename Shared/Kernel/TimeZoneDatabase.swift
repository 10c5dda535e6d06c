private import Synchronization

/// The tz database of the system: which names it has, and the table of each that was asked for.
///
/// The names are listed once, when the first one is asked for, and each table is read once: a name that is not among them costs a look into
/// a set, whatever clients make up, and memory is bounded by what is installed. A newer tz database counts from the next start on.
final class TimeZoneDatabase: Sendable {
    /// That of this machine.
    static let system = TimeZoneDatabase(files: InstalledTimeZones())

    /// No name of the database is longer than 32 bytes.
    private static let longestName = 64

    private struct State {
        /// nil until they could be listed.
        var names: Set<String>?
        var tables: [String: TimeZoneTable] = [:]
    }

    private let files: any TimeZoneFiles
    private let state = Mutex(State())

    init(files: any TimeZoneFiles) { self.files = files }

    /// The table of a name; nil when the database has none of it.
    func table(_ name: String) -> TimeZoneTable? {
        // Before anything is compared: Swift takes canonically equal texts for the same, the tz database does not.
        guard name.utf8.count <= Self.longestName, name.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        if let known = state.withLock({ $0.tables[name] }) { return known }
        guard Self.isName(name) else { return nil }
        let isPossible = state.withLock { state in
            if state.names == nil { state.names = files.names().map { Set($0.filter(Self.isName)) } }
            // Not listed, for want of descriptors say: the file itself may still be there.
            return state.names?.contains(name) ?? true
        }
        guard isPossible, let bytes = files.bytes(of: name) else { return nil }
        let table = TimeZoneTable(bytes)
        state.withLock { state in
            // What is no table is not read again.
            if let table { state.tables[name] = table } else { state.names?.remove(name) }
        }
        return table
    }

    /// Whether a text can be a name: the folder holds more than zones, and other folders are near.
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
        // "posix" and "right" hold everything once more, the latter with leap seconds.
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
    /// The names of all files, folders and slashes included; others than tables may be among them. nil when they cannot all be listed.
    func names() -> [String]?
    /// The bytes of a file; nil when it cannot be read.
    func bytes(of name: String) -> [UInt8]?
}
