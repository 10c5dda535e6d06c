package import Database
package import Kernel
internal import Replicas
internal import StreaksDomain

/// Users' habits as a whole: numbers of changes, settings, categories, day notes, tombstones.
package enum HabitAccountRepository {
    /// Locks the account until the end of the transaction and gives out the next number. A user's first change makes the account with the
    /// five categories of the start (HA-19).
    static func open(_ user: UserID, at now: Instant, ids: any IDSource, _ sql: Transaction) async throws -> HabitAccount {
        try await opened(try queueOpen(user, at: now, sql), user, at: now, ids: ids, sql)
    }

    /// The first part of `open`, for who sends more with it.
    ///
    /// - Parameter lock: without it nothing is locked.
    static func queueOpen(_ user: UserID, at now: Instant, holding lock: AdvisoryLock = .none, _ sql: Transaction) throws
        -> QueuedStatement
    {
        try sql.enqueue(
            """
            INSERT INTO habit_account AS known (user_id, created_at) SELECT user_id, created_at
            FROM \(rows: .of([user]), .of([now]), .of([lock.high]), .of([lock.low])) AS new (user_id, created_at, high, low)
            WHERE \(AdvisoryLock.isHeldInRow)
            ON CONFLICT (user_id) DO UPDATE SET sequence = known.sequence + 1
            RETURNING \(HabitAccount.columns), known.user_id
            """
        )
    }

    /// Whether a user is on a premium plan.
    static func isPremium(_ user: UserID, now: Instant) -> Query { "SELECT \(EntitlementReplica.isPremium(user, now: now))" }

    /// The second part of `open`.
    static func opened(
        _ queued: QueuedStatement,
        _ user: UserID,
        at now: Instant,
        ids: any IDSource,
        _ sql: Transaction
    ) async throws -> HabitAccount {
        let rows = try await queued.rows()
        guard let row = rows.first else { throw ServiceError.internal }
        guard try row.get(at: row.columnCount - 1, as: UserID.self) == user else { throw ServiceError.internal }
        let account = try HabitAccount(row, of: user)
        if account.sequence == 1 {
            for (place, details) in HabitCategoryDetails.defaults.enumerated() {
                try await insert(
                    ids.make(),
                    details,
                    position: place + 1,
                    isCustom: false,
                    HabitStamp(user: user, sequence: account.sequence, now: now),
                    sql
                )
            }
        }
        return account
    }

    /// The account without a lock; as if new for who has changed nothing yet.
    package static func find(_ user: UserID, at now: Instant, _ sql: some QueryExecutor) async throws -> HabitAccount {
        let rows = try await sql.query("SELECT \(HabitAccount.columns) FROM habit_account WHERE user_id = \(user)")
        return try rows.first.map { try HabitAccount($0, of: user) } ?? HabitAccount(new: user, at: now)
    }

    static func store(_ settings: HabitSettings, _ change: HabitStamp, _ sql: Transaction) throws {
        try sql.enqueue(
            """
            UPDATE habit_account SET first_day_of_week = \(Int32(settings.firstDayOfWeek)), theme = \(settings.theme.rawValue),
                accent_color = \(settings.accentColor), haptics = \(settings.haptics), animations = \(settings.animations),
                onboarded = \(settings.onboarded), reminder_minute = \(settings.reminderMinute.map(Int32.init)),
                settings_sequence = \(change.sequence)
            WHERE user_id = \(change.user)
            """
        )
    }

    static func setBackedUp(_ change: HabitStamp, _ sql: Transaction) throws {
        try sql.enqueue("UPDATE habit_account SET backed_up_at = \(change.now) WHERE user_id = \(change.user)")
    }

    /// Devices begin anew. - Returns: the new epoch.
    static func raiseEpoch(_ change: HabitStamp, _ sql: Transaction) async throws -> Int {
        let rows = try await sql.query(
            "UPDATE habit_account SET epoch = epoch + 1 WHERE user_id = \(change.user) RETURNING epoch"
        )
        guard let epoch = try rows.first?.get(at: 0, as: Int32.self) else { throw ServiceError.internal }
        return Int(epoch)
    }

    // MARK: categories

    /// All of a user, in their order.
    package static func categories(of user: UserID, _ sql: some QueryExecutor) async throws -> [HabitCategoryRecord] {
        try await sql.query(
            "SELECT \(HabitCategoryRecord.columns) FROM habit_category WHERE user_id = \(user) ORDER BY position, id"
        ).map(HabitCategoryRecord.init)
    }

    /// - Throws: `DatabaseError` unique violation `habit_category_user_id_name_key_key` or `habit_category_pkey`.
    static func insert(
        _ id: HabitCategoryID,
        _ details: HabitCategoryDetails,
        position: Int?,
        isCustom: Bool = true,
        _ change: HabitStamp,
        _ sql: Transaction
    ) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO habit_category (user_id, id, name, name_key, color, icon, position, is_custom, created_at, updated_at, sequence)
            SELECT \(change.user), \(id), \(details.name), normalize(\(HabitText.key(details.name)), NFC), \(details.color),
                \(details.icon), coalesce(\(position.map { Int32(clamping: $0) }),
                    1 + coalesce((SELECT max(position) FROM habit_category WHERE user_id = \(change.user)), 0)),
                \(isCustom), \(change.createdAt), \(change.now), \(change.sequence)
            """
        )
    }

    /// - Throws: `DatabaseError` unique violation `habit_category_user_id_name_key_key`.
    static func update(_ id: HabitCategoryID, _ details: HabitCategoryDetails, _ change: HabitStamp, _ sql: Transaction)
        async throws
    {
        _ = try await sql.execute(
            """
            UPDATE habit_category SET name = \(details.name), name_key = normalize(\(HabitText.key(details.name)), NFC),
                color = \(details.color), icon = \(details.icon), updated_at = \(change.now), sequence = \(change.sequence)
            WHERE user_id = \(change.user) AND id = \(id)
            """
        )
    }

    /// The order of the list: those that are named, in this order, before all others.
    static func reorder(_ ids: [HabitCategoryID], _ change: HabitStamp, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            UPDATE habit_category SET position = new.place, updated_at = \(change.now), sequence = \(change.sequence)
            FROM (SELECT id, row_number() OVER (ORDER BY wanted.place NULLS LAST, c.position, c.id) AS place
                  FROM habit_category c LEFT JOIN unnest(\(ids)) WITH ORDINALITY AS wanted (id, place) USING (id)
                  WHERE c.user_id = \(change.user)) AS new
            WHERE habit_category.user_id = \(change.user) AND habit_category.id = new.id
                AND habit_category.position <> new.place
            """
        )
    }

    /// Its habits have no category from now on.
    static func deleteCategory(_ id: HabitCategoryID, _ change: HabitStamp, _ sql: Transaction) throws {
        try sql.enqueue(
            """
            UPDATE habit SET category_id = NULL, updated_at = \(change.now), sequence = \(change.sequence)
            WHERE user_id = \(change.user) AND category_id = \(id)
            """
        )
        try sql.enqueue("DELETE FROM habit_category WHERE user_id = \(change.user) AND id = \(id)")
    }

    // MARK: day notes

    /// The notes on these dates.
    package static func dayNotes(of user: UserID, in dates: ClosedRange<CalendarDate>, _ sql: some QueryExecutor) async throws
        -> [CalendarDate: String]
    {
        let rows = try await sql.query(
            """
            SELECT on_date, note FROM habit_day_note
            WHERE user_id = \(user) AND on_date BETWEEN \(dates.lowerBound) AND \(dates.upperBound)
            """
        )
        return Dictionary(try rows.map { (try $0.get(at: 0), try $0.get(at: 1)) }) { first, _ in first }
    }

    /// Empty notes delete those that are there.
    static func store(_ notes: [CalendarDate: String], _ change: HabitStamp, _ sql: Transaction) throws {
        let kept = notes.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }
        if !kept.isEmpty {
            try sql.enqueue(
                """
                INSERT INTO habit_day_note (user_id, on_date, note, updated_at, sequence)
                SELECT \(change.user), on_date, note, \(change.now), \(change.sequence)
                FROM unnest(\(kept.map(\.key)), \(kept.map(\.value))) AS new (on_date, note)
                ON CONFLICT (user_id, on_date) DO UPDATE SET note = EXCLUDED.note, updated_at = EXCLUDED.updated_at,
                    sequence = EXCLUDED.sequence
                """
            )
        }
        let empty = notes.filter(\.value.isEmpty).keys.sorted()
        guard !empty.isEmpty else { return }
        try sql.enqueue("DELETE FROM habit_day_note WHERE user_id = \(change.user) AND on_date = ANY(\(empty))")
    }

    // MARK: tombstones

    /// Notes what was deleted, each once.
    static func bury(_ gone: [(entity: HabitEntity, key: String)], _ change: HabitStamp, _ sql: Transaction) throws {
        guard !gone.isEmpty else { return }
        try sql.enqueue(
            """
            INSERT INTO habit_tombstone (user_id, entity, key, sequence, deleted_at)
            SELECT \(change.user), entity, key, \(change.sequence), \(change.now)
            FROM unnest(\(gone.map(\.entity.rawValue)), \(gone.map(\.key))) AS gone (entity, key)
            ON CONFLICT (user_id, entity, key) DO UPDATE SET sequence = EXCLUDED.sequence, deleted_at = EXCLUDED.deleted_at
            """
        )
    }

    /// The numbers of the changes that deleted what has these keys; absent: it was not deleted, or too long ago.
    package static func tombstones(
        of user: UserID,
        _ wanted: [(entity: HabitEntity, key: String)],
        _ sql: some QueryExecutor
    ) async throws -> [(entity: HabitEntity, key: String, sequence: Int64)] {
        guard !wanted.isEmpty else { return [] }
        return try await sql.query(
            """
            SELECT t.entity::int, t.key, t.sequence
            FROM unnest(\(wanted.map(\.entity.rawValue)), \(wanted.map(\.key))) AS wanted (entity, key)
            JOIN habit_tombstone t ON t.user_id = \(user) AND t.entity = wanted.entity AND t.key = wanted.key
            """
        ).compactMap { row in
            guard let entity = HabitEntity(rawValue: try row.get(at: 0)) else { return nil }
            return (entity, try row.get(at: 1), try row.get(at: 2))
        }
    }

    /// They are there again.
    static func unbury(_ back: [(entity: HabitEntity, key: String)], of user: UserID, _ sql: Transaction) throws {
        guard !back.isEmpty else { return }
        try sql.enqueue(
            """
            DELETE FROM habit_tombstone USING unnest(\(back.map(\.entity.rawValue)), \(back.map(\.key))) AS back (entity, key)
            WHERE user_id = \(user) AND habit_tombstone.entity = back.entity AND habit_tombstone.key = back.key
            """
        )
    }

    /// Deletes tombstones older than `instant`, at most so many. - Returns: how many.
    package static func deleteTombstones(before instant: Instant, limit: Int, _ sql: some QueryExecutor) async throws -> Int {
        try await sql.execute(
            """
            DELETE FROM habit_tombstone WHERE ctid = ANY(ARRAY(
                SELECT ctid FROM habit_tombstone WHERE deleted_at < \(instant) LIMIT \(limit)))
            """
        )
    }
}

/// What can be deleted, for tombstones (HA-7). The raw value is the one in SQL.
package enum HabitEntity: Int32, Hashable, Sendable, CaseIterable {
    case habit = 1
    case category = 2
    case completion = 3
    case skip = 4
    case dayNote = 5
}
