internal import Database
internal import Kernel
internal import StreaksDomain

/// Writes what changes added to the ledgers of habits, and deletes what they took out.
extension HabitLedger {
    /// A change of one habit's ledger.
    typealias Written = (streak: StreakID, entries: HabitLedgerEntries)

    static func store(_ changes: [Written], at now: Instant, _ sql: Transaction) throws {
        guard !changes.isEmpty else { return }
        try storeCompletions(changes, at: now, sql)
        try storeSkips(changes, at: now, sql)
        try storeVersions(changes, sql)
        try storeArchivings(changes, sql)
        try storeMilestones(changes, sql)
        let starts = changes.compactMap { change in change.entries.startsOn.map { (change.streak, $0) } }
        guard !starts.isEmpty else { return }
        try sql.enqueue(
            """
            UPDATE habit SET starts_on = new.date
            FROM \(rows: .of(starts.map(\.0)), .of(starts.map(\.1))) AS new (streak_id, date)
            WHERE habit.streak_id = new.streak_id
            """
        )
    }

    private static func storeCompletions(_ changes: [Written], at now: Instant, _ sql: Transaction) throws {
        let deleted = changes.flatMap { change in change.entries.deleted.map { (change.entries.origin?.user, $0) } }
        if !deleted.isEmpty {
            try sql.enqueue(
                """
                DELETE FROM habit_completion USING unnest(\(deleted.map(\.0)), \(deleted.map(\.1))) AS gone (user_id, id)
                WHERE habit_completion.user_id = gone.user_id AND habit_completion.id = gone.id
                """
            )
        }
        let changed = changes.flatMap { change in change.entries.changed.map { (change.entries.origin, $0) } }
        if !changed.isEmpty {
            try sql.enqueue(
                """
                UPDATE habit_completion SET amount = new.amount, sequence = new.sequence, updated_at = \(now)
                FROM \(rows: .of(changed.map(\.1.user)), .of(changed.map(\.1.id)), .of(changed.map(\.1.amount?.thousandths)),
                    .of(changed.map { $0.0?.sequence ?? 0 })) AS new (user_id, id, amount, sequence)
                WHERE habit_completion.user_id = new.user_id AND habit_completion.id = new.id
                """
            )
        }
        let added = changes.flatMap { change in change.entries.added.map { (change.streak, change.entries.origin, $0) } }
        guard !added.isEmpty else { return }
        let details = added.map { origin in origin.2.id.flatMap { origin.1?.details[$0] } ?? CompletionDetails() }
        try sql.enqueue(
            """
            INSERT INTO habit_completion (user_id, id, streak_id, on_date, amount, note, mood, done_at, minute, received_at,
                recorded_at, updated_at, sequence, photo_id)
            SELECT person, id, streak, on_date, amount, note, mood, done_at, minute, received_at, recorded_at, updated_at, sequence,
                (SELECT p.photo_id FROM habit h JOIN habit_photo p ON p.user_id = h.user_id AND p.habit_id = h.id
                 WHERE h.streak_id = new.streak AND p.on_date = new.on_date)
            FROM \(rows: .of(added.map(\.2.user)), .of(added.map(\.2.id)), .of(added.map(\.0)), .of(added.map(\.2.date)),
                .of(added.map(\.2.amount?.thousandths)), .of(details.map(\.note)), .of(details.map(\.mood?.rawValue)),
                .of(details.map(\.doneAt)), .of(details.map { $0.minute.map { Int32(clamping: $0) } }),
                .of(added.map(\.2.receivedAt)), .of(added.map(\.2.recordedAt)), .of(added.map { $0.1?.sequence ?? 0 }),
                .of(added.map { _ in now }))
                AS new (person, id, streak, on_date, amount, note, mood, done_at, minute, received_at, recorded_at, sequence,
                    updated_at)
            """
        )
    }

    private static func storeSkips(_ changes: [Written], at now: Instant, _ sql: Transaction) throws {
        let unskipped = changes.flatMap { change in change.entries.unskipped.map { (change.streak, $0) } }
        if !unskipped.isEmpty {
            try sql.enqueue(
                """
                DELETE FROM habit_skip USING unnest(\(unskipped.map(\.0)), \(unskipped.map(\.1))) AS gone (streak_id, on_date)
                WHERE habit_skip.streak_id = gone.streak_id AND habit_skip.on_date = gone.on_date
                """
            )
        }
        let skipped = changes.flatMap { change in change.entries.skipped.map { (change.streak, change.entries.origin, $0) } }
        guard !skipped.isEmpty else { return }
        try sql.enqueue(
            """
            INSERT INTO habit_skip (streak_id, on_date, user_id, skipped_at, sequence)
            SELECT streak, on_date, person, \(now), sequence
            FROM unnest(\(skipped.map(\.0)), \(skipped.map(\.2)), \(skipped.map(\.1?.user)), \(skipped.map { $0.1?.sequence ?? 0 }))
                AS new (streak, on_date, person, sequence)
            """
        )
    }

    private static func storeVersions(_ changes: [Written], _ sql: Transaction) throws {
        let replaced = changes.filter { $0.entries.versions != nil }
        guard !replaced.isEmpty else { return }
        try sql.enqueue("DELETE FROM habit_version WHERE streak_id = ANY(\(replaced.map(\.streak)))")
        let versions = replaced.flatMap { change in (change.entries.versions ?? []).map { (change.streak, $0) } }
        // Arrays of arrays must be of one length: the numbers come side by side, each with the place of its version.
        let numbers = versions.indices.flatMap { place in versions[place].1.schedule.numbers.map { (place + 1, Int32($0)) } }
        try sql.enqueue(
            """
            INSERT INTO habit_version (streak_id, from_date, schedule, numbers, anchor, target, week_start)
            SELECT streak, from_date, schedule,
                ARRAY(SELECT number FROM unnest(\(numbers.map { Int32($0.0) }), \(numbers.map(\.1))) AS n (of_place, number)
                    WHERE of_place = place ORDER BY number),
                anchor, target, week_start
            FROM unnest(\(versions.map(\.0)), \(versions.map(\.1.from)), \(versions.map(\.1.schedule.stored)),
                \(versions.map(\.1.schedule.anchor)), \(versions.map(\.1.target?.thousandths)),
                \(versions.map { Int32($0.1.weekStart) }))
                WITH ORDINALITY AS new (streak, from_date, schedule, anchor, target, week_start, place)
            """
        )
    }

    private static func storeArchivings(_ changes: [Written], _ sql: Transaction) throws {
        let replaced = changes.filter { $0.entries.archivings != nil }
        guard !replaced.isEmpty else { return }
        try sql.enqueue("DELETE FROM habit_archiving WHERE streak_id = ANY(\(replaced.map(\.streak)))")
        let all = replaced.flatMap { change in
            (change.entries.archivings ?? []).enumerated().map { (change.streak, Int32($0.offset), $0.element) }
        }
        guard !all.isEmpty else { return }
        try sql.enqueue(
            """
            INSERT INTO habit_archiving (streak_id, place, from_date, until_date)
            SELECT * FROM unnest(\(all.map(\.0)), \(all.map(\.1)), \(all.map(\.2.from)), \(all.map(\.2.until)))
            """
        )
    }

    private static func storeMilestones(_ changes: [Written], _ sql: Transaction) throws {
        let new = changes.flatMap { change in
            change.entries.reported.enumerated().map {
                (change.streak, Int32(change.entries.reportedBefore + $0.offset), $0.element)
            }
        }
        guard !new.isEmpty else { return }
        try sql.enqueue(
            """
            INSERT INTO habit_milestone (streak_id, place, count, counts, on_date)
            SELECT * FROM unnest(\(new.map(\.0)), \(new.map(\.1)), \(new.map { Int32(clamping: $0.2.count) }),
                \(new.map(\.2.unit.stored)), \(new.map(\.2.date)))
            """
        )
    }
}
