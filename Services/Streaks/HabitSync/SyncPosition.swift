internal import Kernel
internal import ServiceRuntime
internal import StreaksDomain

/// How far a device has pulled: all entries in the order of their numbers (HA-7), those of one number by table and key.
struct SyncPosition: CursorPosition {
    /// In the order in which entries of one number are sent. The raw value is part of cursors.
    enum Table: UInt8, Sendable, CaseIterable {
        case settings = 1
        case category = 2
        case habit = 3
        case completion = 4
        case skip = 5
        case dayNote = 6
        case deletion = 7
        /// Everything of the number was sent.
        case end = 8
    }

    var epoch: Int32
    /// The number of the last entry that was sent.
    var sequence: Int64
    var table: Table
    /// Its key in its table, as text.
    var key: String
    /// When the device had everything, or began to pull everything: what was deleted since is remembered.
    var since: Instant
    /// Deletions up to this number concern nothing that the device has.
    var floor: Int64

    init(epoch: Int32, sequence: Int64, table: Table, key: String = "", since: Instant, floor: Int64) {
        (self.epoch, self.sequence, self.table, self.key) = (epoch, sequence, table, key)
        (self.since, self.floor) = (since, floor)
    }

    private static let fixedBytes = 29

    init?(bytes: ArraySlice<UInt8>) {
        guard bytes.count >= Self.fixedBytes, bytes.count <= Self.fixedBytes + 100 else { return nil }
        func number(_ first: Int, _ count: Int) -> UInt64 {
            bytes.dropFirst(first).prefix(count).reduce(0) { $0 << 8 | UInt64($1) }
        }
        guard let epoch = Int32(exactly: number(0, 4)), let sequence = Int64(exactly: number(4, 8)),
            let floor = Int64(exactly: number(20, 8)), let table = Table(rawValue: UInt8(truncatingIfNeeded: number(28, 1))),
            bytes.dropFirst(Self.fixedBytes).allSatisfy({ (32...126).contains($0) })
        else { return nil }
        let since = Instant(microseconds: Int64(bitPattern: number(12, 8)))
        guard Instant.writable.contains(since) else { return nil }
        let key = String(decoding: bytes.dropFirst(Self.fixedBytes), as: UTF8.self)
        self.init(epoch: epoch, sequence: sequence, table: table, key: key, since: since, floor: floor)
        guard Self.isKey(key, of: table) else { return nil }
    }

    var bytes: [UInt8] {
        func bytes(_ number: UInt64, _ count: Int) -> [UInt8] {
            (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> UInt64($0 * 8)) }
        }
        return bytes(UInt64(epoch.magnitude), 4) + bytes(sequence.magnitude, 8) + bytes(UInt64(bitPattern: since.microseconds), 8)
            + bytes(floor.magnitude, 8) + [table.rawValue] + Array(key.utf8)
    }

    /// Whether the database can compare it.
    private static func isKey(_ key: String, of table: Table) -> Bool {
        let parts = key.split(separator: " ", omittingEmptySubsequences: false)
        switch table {
        case .settings, .end: return key.isEmpty
        case .category, .habit, .completion: return HabitID(key) != nil
        case .skip: return parts.count == 2 && StreakID(parts[0]) != nil && CalendarDate(parts[1]) != nil
        case .dayNote: return CalendarDate(key) != nil
        case .deletion: return parts.count >= 2 && Int32(parts[0]) != nil
        }
    }
}
