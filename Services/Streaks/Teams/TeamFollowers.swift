internal import Database
internal import Kernel
package import Outbox
internal import StreaksAPI
package import StreaksCore
package import StreaksDomain
package import Wire

/// Says whose feature team streaks are; their events come from `TeamFollower`, which knows the circles.
package struct TeamEvents: StreakKindEvents {
    package let kind = StreakKind.team
    package let feature = "teams"

    package init() {}

    package func events(of _: PlannedChange) throws -> [any Event] { [] }
}

/// Emits what happens to team streaks, and keeps the schedule of their reminders, in the transaction that changes them.
package struct TeamFollower: StreakFollower {
    package init() {}

    package func follow(_ changes: [PlannedChange], _: Urgency, _ work: UnitOfWork) async throws {
        let changed = changes.filter { $0.row.kind == .team }
        guard !changed.isEmpty else { return }
        let teams = try await TeamRepository.teams(of: changed.map(\.row.id), work.sql)
        var events: [any Event] = []
        var reminders: [(circle: CircleID, at: Instant?)] = []
        var slice = TimeSlice()
        for change in changed {
            guard let team = teams[change.row.id] else { continue }
            events += TeamEvent(team, change).all
            let (ledger, state) = (change.change.ledger, change.change.state)
            reminders.append((team.circle, TeamReminder.next(ledger, state, handled: team.remindedFor)))
            await slice.yieldIfOver()
        }
        try await TeamRepository.schedule(reminders, work.sql)
        try await work.emit(events)
    }
}

/// Starts, changes and ends the streak of a circle with its members (TS-4): it begins when the circle has its second member.
package struct TeamCircles: CircleFollower {
    package init() {}

    package func circleChanged(_ circle: ReplicatedCircle, _ writer: StreakWriter, _ work: UnitOfWork) async throws {
        guard let team = try await TeamRepository.find(circle.id, work.sql) else {
            guard circle.members.count >= 2, !circle.isDeleted else { return }
            try await start(circle, writer, work)
            return
        }
        if circle.isDeleted {
            for stored in try await writer.store.lock([team.streak], work.sql) where stored.row.status != .ended {
                try await writer.apply(.end, to: stored, work)
            }
            try await TeamRepository.delete(circle.id, work.sql)
            return
        }
        guard let stored = try await writer.store.lock([team.streak], work.sql).first else { throw ServiceError.internal }
        let (before, now) = (Set(stored.ledger.presentMembers), Set(circle.members.map(\.user)))
        // Who has left before midnight is missed by no one on that date, whenever the event comes.
        for user in before.subtracting(now).sorted() {
            try await apply(.leave(user, at: circle.changedAt), to: team.streak, writer, work)
        }
        let joined = circle.members.filter { !before.contains($0.user) }.sorted {
            ($0.joinedAt, $0.user) < ($1.joinedAt, $1.user)
        }
        guard !joined.isEmpty else { return }
        let zones = try await ZoneRepository.histories(of: joined.map(\.user), work.sql)
        for member in joined {
            let zones = zones[member.user] ?? ZoneHistory(.utc)
            // Who has joined before midnight counts from the next date on, whenever the event comes.
            try await apply(.join(member.user, zones, at: member.joinedAt), to: team.streak, writer, work)
        }
    }

    private func start(_ circle: ReplicatedCircle, _ writer: StreakWriter, _ work: UnitOfWork) async throws {
        let members = circle.members.map(\.user)
        try await writer.start(StreakWriter.NewStreak(.team, of: members, key: circle.id.description), work) { streak in
            try await TeamRepository.insert(circle.id, streak, work.sql)
        }
    }

    /// Loaded again for each change: it goes by what the one before has stored.
    private func apply(_ command: StreakCommand, to streak: StreakID, _ writer: StreakWriter, _ work: UnitOfWork) async throws {
        for stored in try await writer.store.lock([streak], work.sql) { try await writer.apply(command, to: stored, work) }
    }
}
