private import Synchronization

/// The tz database that this process goes by: its names, and the rules that were used, each read once.
///
/// It lies in a folder, which a package or an operator replaces. A newer one is noticed (`look`) and taken up without a restart: every
/// `Zone` there is goes by the new rules from then on. An older one is never taken up.
///
/// An unknown name costs one lookup in a set, so clients cannot cause file reads by inventing names, and memory is bounded by what is
/// installed.
public final class TimeZoneDatabase: Sendable {
    /// That of this process, which `Zone` asks.
    public static let system = TimeZoneDatabase(files: InstalledTimeZones())

    /// No name of the database is longer than 32 bytes.
    private static let longestName = 64

    private struct State {
        var files: any TimeZoneFiles
        /// nil until they have been listed.
        var names: Set<String>?
        var rules: [String: ZoneRulesInUse] = [:]
        /// What the rules are from.
        var version: ZoneVersion?
        /// What the folder has.
        var installed: ZoneVersion?
        /// What the folder has had since, and is not believed yet.
        var seen: (version: ZoneVersion, since: ContinuousClock.Instant)?
        var isKept = false
    }

    private let state: Mutex<State>

    init(files: any TimeZoneFiles) { state = Mutex(State(files: files)) }

    /// The version that every `Zone` goes by; nil before the first `look`, and where the folder does not say it.
    public var version: ZoneVersion? { state.withLock { $0.version } }

    /// The version that the folder had at the last `look`; nil where it does not say it.
    public var installed: ZoneVersion? { state.withLock { $0.installed } }

    /// The newest version known here: of the folder, of what was taken up, and of this build (`ZoneVersion.newestKnown`).
    public var newest: ZoneVersion {
        state.withLock { [$0.version, $0.installed].compactMap { $0 }.reduce(.newestKnown, max) }
    }

    /// Whether a folder has a tz database; without one no name is known.
    public static func isInstalled(in folder: String) -> Bool {
        InstalledTimeZones(folder: folder).bytes(of: "Europe/Berlin").flatMap(ZoneRules.init) != nil
    }

    /// Reads the database in this folder from now on, and looks at its version.
    public func use(folder: String) {
        let files = InstalledTimeZones(folder: folder)
        let isOther = state.withLock { state in
            guard (state.files as? InstalledTimeZones)?.folder != folder else { return false }
            (state.files, state.names, state.version, state.installed, state.seen) = (files, nil, nil, nil, nil)
            return true
        }
        look()
        if isOther { takeUp() }
    }

    /// Looks which version the folder has.
    ///
    /// - Parameter steadiness: how long a version must have been there before it counts: packages replace one file after the other.
    /// - Returns: whether it is newer than what is in use: `takeUp` is to be called.
    @discardableResult
    public func look(steadyFor steadiness: Duration = .seconds(30), at now: ContinuousClock.Instant = .now) -> Bool {
        let found = state.withLock { $0.files }.version()
        return state.withLock { state in
            guard let found else { return false }
            guard let installed = state.installed else {
                (state.installed, state.version) = (found, state.version ?? found)
                return found > state.version ?? found
            }
            if found == installed {
                state.seen = nil
            } else {
                if state.seen?.version != found { state.seen = (found, now) }
                if let seen = state.seen, now - seen.since >= steadiness { (state.installed, state.seen) = (found, nil) }
            }
            return state.installed ?? installed > state.version ?? installed
        }
    }

    /// From now on every zone goes by what the folder has. What cannot be read stays as it is.
    public func takeUp() {
        let (files, known) = state.withLock { state in (state.files, Array(state.rules.keys)) }
        var read: [String: ZoneRules] = [:]
        for name in known { read[name] = files.bytes(of: name).flatMap(ZoneRules.init) }
        state.withLock { state in
            state.names = nil
            state.version = state.installed ?? state.version
        }
        replace(read, version: nil)
    }

    /// From now on these zones go by these rules, whatever the folder has.
    ///
    /// - Parameter version: what all rules in use are from, with these; nil: as before.
    public func replace(_ rules: [String: ZoneRules], version: ZoneVersion?) {
        state.withLock { state in
            for (name, rules) in rules where Self.isName(name) {
                let next = ZoneRulesInUse(rules)
                state.rules[name]?.follow(next)
                state.rules[name] = next
                state.names?.insert(name)
            }
            state.version = version ?? state.version
        }
    }

    /// Leaves it to the caller when which rules are taken up (`replace`): nothing of a newer folder is used before. For who stores what follows
    /// from them.
    public func keep() {
        state.withLock { $0.isKept = true }
        // What is read later could be of another version.
        for name in names { _ = rules(name) }
    }

    /// Whether a caller decides when which rules are taken up.
    public var isKept: Bool { state.withLock { $0.isKept } }

    /// All names that the folder has now; empty when they cannot be listed.
    public var names: [String] { (state.withLock { $0.files }.names() ?? []).filter(Self.isName) }

    /// What the folder has for a name now, compiled (TZif); nil when it has none.
    public func file(of name: String) -> [UInt8]? { Self.isName(name) ? state.withLock { $0.files }.bytes(of: name) : nil }

    /// The rules of a name; nil when there is none.
    func rules(_ name: String) -> ZoneRulesInUse? {
        // Checked before any comparison: for Swift, canonically equal texts are equal; for the tz database they are not.
        guard name.utf8.count <= Self.longestName, name.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        if let known = state.withLock({ $0.rules[name] }) { return known }
        guard Self.isName(name) else { return nil }
        let (files, isPossible) = state.withLock { state in
            if state.names == nil { state.names = state.files.names().map { Set($0.filter(Self.isName)) } }
            // Listing failed, for example because no file descriptor was free. The file itself may still exist.
            return (state.files, state.names?.contains(name) ?? true)
        }
        guard isPossible, let bytes = files.bytes(of: name) else { return nil }
        let rules = ZoneRules(bytes)
        return state.withLock { state in
            // Of two that read it at once one is kept: what replaces it must be found from every zone.
            if let known = state.rules[name] { return known }
            let first = rules.map { ZoneRulesInUse($0) }
            // A file that has no rules is not read again.
            if let first { state.rules[name] = first } else { state.names?.remove(name) }
            return first
        }
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
    /// Which version they are; nil when they do not say it.
    func version() -> ZoneVersion?
}

/// The rules that zones of one name go by: those here, or the newest that took their place.
final class ZoneRulesInUse: Sendable {
    private let first: ZoneRules
    private let successor = AtomicLazyReference<ZoneRulesInUse>()

    init(_ rules: ZoneRules) { first = rules }

    /// The newest. Without a lock: it is asked for every date.
    var current: ZoneRules {
        var newest = self
        while let next = newest.successor.load() { newest = next }
        return newest.first
    }

    /// These are replaced by others, once.
    func follow(_ next: ZoneRulesInUse) { _ = successor.storeIfNil(next) }
}
