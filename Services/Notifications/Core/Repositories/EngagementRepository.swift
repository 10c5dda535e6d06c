package import Database
package import Kernel
internal import NotificationsDomain

/// Entries of one kind that were written on one date of UTC: what figures about notifications are by (TS-5).
package struct EntryGroup: Hashable, Sendable {
    /// Of the proto and the table.
    package let kind: Int32
    package let date: CalendarDate
}

/// How many entries of a group were opened.
package struct OpenedEntries: Sendable {
    package let group: EntryGroup
    package let opened: Int32
    /// Those of which the push service had taken a push before.
    package let pushed: Int32
}

/// What became of pushes of a group.
package struct DeliveredEntries: Sendable {
    package let group: EntryGroup
    /// Entries of which the push service took a push for the first time.
    package let pushed: Int32
    package let sent: Int32
    package let received: Int32
    package let failed: Int32
}

/// A step in the life of a push that figures count.
package struct DeliveryStep: Sendable {
    package enum Outcome: Int16, Sendable {
        case sent = 1
        case received = 2
        case failed = 3
    }

    package let delivery: DeliveryID
    package let entry: NotificationID
    package let outcome: Outcome

    /// nil for a state that is counted already, or is no end.
    package init?(_ delivery: ClaimedDelivery) {
        self.delivery = delivery.id
        entry = delivery.entry
        switch delivery.life.state {
        // One that is handed over again, because its device got too many, was counted the first time.
        case .sent where delivery.sentAt == nil: outcome = .sent
        case .received: outcome = .received
        case .failed: outcome = .failed
        case .queued, .sent, .expired: return nil
        }
    }
}

/// What of entries and their pushes is counted.
package enum EngagementRepository {
    /// Notes that entries were pushed, and counts the steps of pushes by the group of their entries. An entry that is gone counts for nothing.
    ///
    /// The rows of the entries stay locked until the commit, after those of the pushes.
    package static func note(_ steps: [DeliveryStep], at now: Instant, _ sql: Transaction) async throws -> [DeliveredEntries] {
        guard !steps.isEmpty else { return [] }
        let sent = steps.filter { $0.outcome == .sent }.map(\.entry)
        return try await sql.query(
            """
            WITH step AS (
                SELECT * FROM unnest(\(steps.map(\.entry)), \(steps.map(\.outcome.rawValue))) AS step (entry, outcome)),
            locked AS (
                SELECT id FROM notification WHERE id = ANY(\(Array(Set(sent)))) AND pushed_at IS NULL ORDER BY id FOR UPDATE),
            first AS (
                UPDATE notification n SET pushed_at = \(now) FROM locked WHERE n.id = locked.id RETURNING n.id)
            SELECT n.kind::int, (n.created_at AT TIME ZONE 'UTC')::date, count(DISTINCT first.id)::int,
                (count(*) FILTER (WHERE step.outcome = 1))::int, (count(*) FILTER (WHERE step.outcome = 2))::int,
                (count(*) FILTER (WHERE step.outcome = 3))::int
            FROM step JOIN notification n ON n.id = step.entry LEFT JOIN first ON first.id = n.id
            GROUP BY 1, 2 ORDER BY 2, 1
            """
        ).map { row in
            DeliveredEntries(
                group: EntryGroup(kind: try row.get(at: 0), date: try row.get(at: 1)),
                pushed: try row.get(at: 2),
                sent: try row.get(at: 3),
                received: try row.get(at: 4),
                failed: try row.get(at: 5)
            )
        }
    }
}
