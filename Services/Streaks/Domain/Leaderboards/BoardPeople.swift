public import Kernel

/// The users on any of the boards, each with a number from 0: a board then needs 4 bytes for a user instead of 16.
///
/// A hash table with open addressing over the numbers. 24 bytes a user when the table is half full. A user is never removed:
/// their number stays for when they begin again.
public struct BoardPeople: Sendable {
    private var ids: [UserID] = []
    /// Numbers + 1 at the places of the hashes; 0: free. A power of two, at most half full.
    private var table: [UInt32]

    /// - Parameter capacity: for how many users there is room at once.
    public init(capacity: Int = 0) {
        ids.reserveCapacity(capacity)
        table = [UInt32](repeating: 0, count: Self.size(for: capacity))
    }

    /// The user with a number.
    public subscript(number: UInt32) -> UserID { ids[Int(number)] }

    /// The number of a user; nil when they never had one.
    public func number(of user: UserID) -> UInt32? {
        let found = table[place(of: user)]
        return found == 0 ? nil : found - 1
    }

    /// The number of a user, a new one when they have none.
    public mutating func add(_ user: UserID) -> UInt32 {
        let known = table[place(of: user)]
        if known > 0 { return known - 1 }
        if 2 * (ids.count + 1) > table.count { grow() }
        ids.append(user)
        table[place(of: user)] = UInt32(ids.count)
        return UInt32(ids.count - 1)
    }

    /// Where the user is, or belongs.
    private func place(of user: UserID) -> Int {
        let mask = table.count - 1
        // The low half of a UUIDv7 is random. The multiplication spreads ids that were counted up, too.
        var place = Int(truncatingIfNeeded: ((user.low ^ user.high) &* 0x9E37_79B9_7F4A_7C15) >> 32) & mask
        while table[place] != 0, ids[Int(table[place]) - 1] != user { place = (place + 1) & mask }
        return place
    }

    private mutating func grow() {
        table = [UInt32](repeating: 0, count: 2 * table.count)
        for (number, id) in ids.enumerated() { table[place(of: id)] = UInt32(number + 1) }
    }

    private static func size(for capacity: Int) -> Int {
        var size = 16
        while size < 2 * capacity { size *= 2 }
        return size
    }
}
