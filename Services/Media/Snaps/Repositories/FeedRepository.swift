internal import Database
internal import Kernel

/// Where a streak shows a snap: for whose date.
struct SnapSlot: Hashable, Sendable {
    let streak: StreakID
    let date: CalendarDate
    let user: UserID
}

/// A snap as a streak shows it.
struct ShownSnap: Sendable {
    let user: UserID
    let id: SnapID
    let caption: String?
    let promptID: String?
    let capturedAt: Instant
    let postedAt: Instant
    let isOnTime: Bool
    let displayKey: String
    let thumbnailKey: String
    let width: Int32
    let height: Int32

    /// In the order `init` reads them.
    static let columns: Query = """
        p.id, p.caption, p.captured_at, p.posted_at, p.on_time, p.display_key, p.thumbnail_key, p.width, p.height, p.prompt_id
        """

    /// - Parameter first: where in the row `columns` begin.
    init(_ row: Row, at first: Int, of user: UserID) throws {
        self.user = user
        id = try row.get(at: first)
        caption = try row.get(at: first + 1)
        capturedAt = try row.get(at: first + 2)
        postedAt = try row.get(at: first + 3)
        isOnTime = try row.get(at: first + 4)
        displayKey = try row.get(at: first + 5)
        thumbnailKey = try row.get(at: first + 6)
        width = try row.get(at: first + 7)
        height = try row.get(at: first + 8)
        promptID = try row.get(at: first + 9)
    }
}

/// What a reader finds in a slot.
enum SlotContent: Sendable {
    /// Without a snap, or its author's photos are withheld (PH-6).
    case empty
    case snap(ShownSnap)
    /// Its author has deleted it: the date stays posted for.
    case deleted
    /// The reader blocks the slot's person, or is blocked (SO-7).
    case hidden
}

/// Both members' snaps for one date.
struct SharedDate: Sendable {
    let date: CalendarDate
    var own: ShownSnap?
    var friends: ShownSnap?
    /// Whose snap there was and its author has deleted.
    var isOwnDeleted = false
    var isFriendsDeleted = false
}

extension SnapRepository {
    /// The author of a snap; nil when there is none.
    func owner(of id: SnapID) async throws -> UserID? {
        try await database.lookup("SELECT user_id FROM snap WHERE id = \(id)").first?.decode(as: UserID.self)
    }

    /// What `reader` finds in these slots, in their order: snaps, blocks and withheld owners in one statement, all by primary key.
    func contents(of slots: [SnapSlot], for reader: UserID) async throws -> [SlotContent] {
        guard !slots.isEmpty else { return [] }
        var contents = [SlotContent](repeating: .empty, count: slots.count)
        let rows = try await database.lookup(
            """
            SELECT slot.place, slot.person <> \(reader) AND
                (EXISTS (SELECT FROM block_replica b WHERE b.active AND b.blocker = \(reader) AND b.blocked = slot.person)
                 OR EXISTS (SELECT FROM block_replica b WHERE b.active AND b.blocker = slot.person AND b.blocked = \(reader))),
                p.id IS NULL OR EXISTS (SELECT FROM photo_owner o WHERE o.user_id = slot.person AND o.is_withheld),
                p.deleted_at IS NOT NULL, \(ShownSnap.columns)
            FROM unnest(\(slots.map(\.streak)), \(slots.map(\.date)), \(slots.map(\.user)))
                WITH ORDINALITY AS slot (streak, day, person, place)
            LEFT JOIN streak_snap s ON s.streak_id = slot.streak AND s.on_date = slot.day AND s.user_id = slot.person
            LEFT JOIN snap p ON p.id = s.snap_id
            """
        )
        for row in rows {
            let place = Int(try row.get(at: 0, as: Int64.self)) - 1
            if try row.get(at: 1, as: Bool.self) {
                contents[place] = .hidden
            } else if try !row.get(at: 2, as: Bool.self) {
                let isDeleted = try row.get(at: 3, as: Bool.self)
                contents[place] = isDeleted ? .deleted : .snap(try ShownSnap(row, at: 4, of: slots[place].user))
            }
        }
        return contents
    }

    /// What two members of a streak have posted, newest date first; of a friend whom `reader` may not see, nothing (PH-5, PH-6).
    ///
    /// - Parameters:
    ///   - before: only dates before this one; nil for all.
    ///   - limit: the most dates.
    func history(
        of streak: StreakID,
        for reader: UserID,
        with friend: UserID,
        before: CalendarDate?,
        limit: Int
    ) async throws -> [SharedDate] {
        let bound: Query = before.map { "AND s.on_date < \($0)" } ?? ""
        // A date has at most two rows, so these are enough for `limit` whole dates.
        let rows = try await database.query(
            """
            SELECT s.on_date, s.user_id, p.deleted_at IS NOT NULL, \(ShownSnap.columns) FROM streak_snap s JOIN snap p ON p.id = s.snap_id
            WHERE \(Self.isShown(streak, to: reader, with: friend)) \(bound)
            ORDER BY s.on_date DESC LIMIT \(2 * limit)
            """
        )
        var dates: [SharedDate] = []
        for row in rows {
            let (date, user) = (try row.get(at: 0, as: CalendarDate.self), try row.get(at: 1, as: UserID.self))
            if dates.last?.date != date { dates.append(SharedDate(date: date)) }
            let last = dates.count - 1
            if try row.get(at: 2, as: Bool.self) {
                if user == reader { dates[last].isOwnDeleted = true } else { dates[last].isFriendsDeleted = true }
                continue
            }
            let snap = try ShownSnap(row, at: 3, of: user)
            if user == reader { dates[last].own = snap } else { dates[last].friends = snap }
        }
        return Array(dates.prefix(limit))
    }

    /// The `number`-th date of the history, counted from the newest, which is 1; nil when it has fewer.
    func date(_ number: Int, of streak: StreakID, for reader: UserID, with friend: UserID) async throws -> CalendarDate? {
        try await database.query(
            """
            SELECT s.on_date FROM streak_snap s WHERE \(Self.isShown(streak, to: reader, with: friend))
            GROUP BY s.on_date ORDER BY s.on_date DESC OFFSET \(number - 1) LIMIT 1
            """
        ).first?.decode(as: CalendarDate.self)
    }

    /// A condition on `streak_snap s`: the reader's own, and the friend's unless either blocks the other or the friend may not be seen.
    private static func isShown(_ streak: StreakID, to reader: UserID, with friend: UserID) -> Query {
        """
        s.streak_id = \(streak) AND (s.user_id = \(reader) OR s.user_id = \(friend)
            AND NOT EXISTS (SELECT FROM block_replica b WHERE b.active AND b.blocker = \(reader) AND b.blocked = \(friend))
            AND NOT EXISTS (SELECT FROM block_replica b WHERE b.active AND b.blocker = \(friend) AND b.blocked = \(reader))
            AND NOT EXISTS (SELECT FROM photo_owner o WHERE o.user_id = \(friend) AND o.is_withheld))
        """
    }
}
