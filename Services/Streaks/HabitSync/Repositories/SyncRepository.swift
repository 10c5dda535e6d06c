internal import Database
internal import Kernel
internal import StreaksCore
internal import StreaksDomain

/// Answers to changes of devices, and the devices.
enum SyncRepository {
    /// What the unanswered rest of a user's devices is about.
    struct Known: Sendable {
        /// By the ids of changes.
        var answers: [ChangeID: SyncAnswer] = [:]
        /// The ids of completions and categories that came under other ids, by these.
        var completions: [CompletionID: CompletionID] = [:]
        var categories: [HabitCategoryID: HabitCategoryID] = [:]
    }

    /// - Parameters:
    ///   - changes: of the request.
    ///   - completions: ids that they name.
    static func known(
        of user: UserID,
        _ changes: [ChangeID],
        completions: [CompletionID],
        categories: [HabitCategoryID],
        _ sql: Transaction
    ) async throws -> Known {
        let answers = try sql.enqueue(
            """
            SELECT change_id, outcome::int, merged_into, code, message, field FROM habit_sync_change
            WHERE user_id = \(user) AND change_id = ANY(\(changes))
            """
        )
        let names = try sql.enqueue(
            """
            SELECT entity::int, entity_id, merged_into FROM habit_sync_change
            WHERE user_id = \(user) AND merged_into IS NOT NULL
                AND (entity = \(HabitEntity.completion.rawValue) AND entity_id = ANY(\(completions))
                    OR entity = \(HabitEntity.category.rawValue) AND entity_id = ANY(\(categories)))
            """
        )
        var known = Known()
        for row in try await answers.rows() {
            guard let outcome = SyncAnswer.Outcome(rawValue: try row.get(at: 1)) else { throw ServiceError.internal }
            known.answers[try row.get(at: 0)] = SyncAnswer(
                outcome: outcome,
                mergedInto: try row.get(at: 2),
                code: try row.get(at: 3),
                message: try row.get(at: 4),
                field: try row.get(at: 5)
            )
        }
        for row in try await names.rows() {
            switch HabitEntity(rawValue: try row.get(at: 0)) {
            case .completion: known.completions[try row.get(at: 1)] = try row.get(at: 2)
            case .category: known.categories[try row.get(at: 1)] = try row.get(at: 2)
            case .habit, .skip, .dayNote, nil: break
            }
        }
        return known
    }

    /// The most answers that are kept for a user: older ones are deleted, so that changes without end fill no disk.
    static let mostAnswers = 20_000

    /// Stores answers for who sends the changes again, and deletes the oldest beyond `mostAnswers`.
    static func store(_ answers: [(change: ChangeID, answer: SyncAnswer)], of user: UserID, at now: Instant, _ sql: Transaction)
        throws
    {
        guard !answers.isEmpty else { return }
        let all = answers.map(\.answer)
        try sql.enqueue(
            """
            INSERT INTO habit_sync_change (user_id, change_id, entity, entity_id, merged_into, outcome, code, message, field, answered_at)
            SELECT \(user), change_id, entity, entity_id, merged_into, outcome, code, message, field, \(now)
            FROM unnest(\(answers.map(\.change)), \(all.map(\.entity?.rawValue)), \(all.map(\.entityID)), \(all.map(\.mergedInto)),
                \(all.map(\.outcome.rawValue)), \(all.map(\.code)), \(all.map(\.message)), \(all.map(\.field)))
                AS new (change_id, entity, entity_id, merged_into, outcome, code, message, field)
            """
        )
        try sql.enqueue(
            """
            DELETE FROM habit_sync_change WHERE user_id = \(user) AND answered_at < (SELECT answered_at FROM habit_sync_change
                WHERE user_id = \(user) ORDER BY answered_at DESC OFFSET \(mostAnswers) LIMIT 1)
            """
        )
    }

    /// The date of a device's last sync; nil for one that was never here.
    static func lastSync(of device: DeviceID, _ user: UserID, _ sql: some QueryExecutor) async throws -> CalendarDate? {
        try await sql.query(
            "SELECT last_synced_on FROM habit_sync_device WHERE user_id = \(user) AND device_id = \(device)"
        ).first?.get(at: 0)
    }

    /// A device was here. Beyond `SyncDevices.most` of a user those that were not seen for longest are deleted.
    static func store(_ device: DeviceID, of user: UserID, lastSync: CalendarDate, at now: Instant, _ sql: Transaction) throws {
        try sql.enqueue(
            """
            INSERT INTO habit_sync_device AS known (user_id, device_id, last_synced_on, seen_at)
            VALUES (\(user), \(device), \(lastSync), \(now))
            ON CONFLICT (user_id, device_id) DO UPDATE SET last_synced_on = EXCLUDED.last_synced_on, seen_at = EXCLUDED.seen_at
            """
        )
        try sql.enqueue(
            """
            DELETE FROM habit_sync_device WHERE user_id = \(user) AND device_id IN (
                SELECT device_id FROM habit_sync_device WHERE user_id = \(user)
                ORDER BY seen_at DESC, device_id OFFSET \(SyncProtocol.mostDevices))
            """
        )
    }

    /// Deletes answers older than `instant`, at most so many. - Returns: how many.
    static func deleteAnswers(before instant: Instant, limit: Int, _ sql: some QueryExecutor) async throws -> Int {
        try await sql.execute(
            """
            DELETE FROM habit_sync_change WHERE ctid = ANY(ARRAY(
                SELECT ctid FROM habit_sync_change WHERE answered_at < \(instant) LIMIT \(limit)))
            """
        )
    }

    /// Deletes devices that were not seen since `instant`, at most so many. - Returns: how many.
    static func deleteDevices(before instant: Instant, limit: Int, _ sql: some QueryExecutor) async throws -> Int {
        try await sql.execute(
            """
            DELETE FROM habit_sync_device WHERE ctid = ANY(ARRAY(
                SELECT ctid FROM habit_sync_device WHERE seen_at < \(instant) LIMIT \(limit)))
            """
        )
    }
}
