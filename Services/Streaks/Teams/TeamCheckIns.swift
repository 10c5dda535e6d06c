internal import Database
internal import Kernel
internal import Outbox
internal import StreaksCore
internal import StreaksDomain

/// Counts check-ins for the streaks of circles.
struct TeamCheckIns: Sendable {
    let writer: StreakWriter
    let circles: CircleReplica

    /// What a check-in came to in one circle.
    struct Outcome: Sendable {
        let date: CalendarDate
        let isCounted: Bool
        /// nil while the circle has no streak.
        let change: PlannedChange?
        /// The date, after it.
        let team: TeamDate?
        /// Of the streak.
        let count: Int
        /// The client's time was not believed, and the time of receipt counts (SD-2).
        let isCaptureIgnored: Bool
    }

    /// A check-in to one circle.
    func checkIn(
        _ user: UserID,
        to circle: CircleID,
        receivedAt: Instant,
        capturedAt: Instant?,
        _ work: UnitOfWork
    ) async throws -> Outcome {
        let zones = try await ZoneRepository.histories(of: [user], work.sql)[user] ?? ZoneHistory(.utc)
        let claim = zones.claim(receivedAt: receivedAt, capturedAt: capturedAt, writer.policy(for: .team))
        let (claimed, isIgnored) = (claim.date, claim.isCaptureIgnored)
        guard let team = try await TeamRepository.find(circle, work.sql),
            let stored = try await writer.store.lock([team.streak], work.sql).first
        else {
            return Outcome(date: claimed, isCounted: false, change: nil, team: nil, count: 0, isCaptureIgnored: isIgnored)
        }
        do {
            let command = StreakCommand.contribute(user, receivedAt: receivedAt, capturedAt: capturedAt)
            let change = try await writer.apply(command, to: stored, work)
            let date = change.change.creditedTo ?? claimed
            let present = change.change.ledger.teamDate(date, at: change.now)
            return Outcome(
                date: date,
                isCounted: present.members.contains(user),
                change: change,
                team: present,
                count: change.change.state.count,
                isCaptureIgnored: isIgnored
            )
        } catch let refusal as ServiceError where Self.countsNothing(refusal) {
            let now = max(work.now, stored.row.settledAt)
            let state = fold(stored.ledger, writer.policy(for: .team), at: now)
            let present = stored.ledger.teamDate(claimed, at: now)
            return Outcome(
                date: claimed,
                isCounted: false,
                change: nil,
                team: present,
                count: state.count,
                isCaptureIgnored: isIgnored
            )
        }
    }

    /// What users have checked in for, apart from circles.
    struct OwnCheckIn: Sendable {
        let user: UserID
        let date: CalendarDate
        /// When it was received. A check-in to a circle is received at the same instant as the member's own that follows from it.
        let at: Instant
        /// Of the user's streak.
        let count: Int32
    }

    /// Members' own check-ins, in order: each contributes to all circles of its member, and is in their feeds.
    func follow(_ checkIns: [OwnCheckIn], _ work: UnitOfWork) async throws {
        let users = Array(Set(checkIns.map(\.user)))
        let circles = try await circles.circles(of: users, work.sql)
        // Who has left since was a member on the date that they checked in for: the ledger knows.
        let earliest = checkIns.map(\.at).reduce(work.now, min) - Self.reach
        let left = try await writer.store.leftIDs(.team, by: users, since: earliest, work.sql)
        guard !circles.isEmpty || !left.isEmpty else { return }
        let teams = try await TeamRepository.teams(of: Array(Set(circles.values.joined())), work.sql)
        // Locked in one order, whichever member comes first.
        let all = teams.map(\.streak) + left.values.joined()
        if users.count > 1 { _ = try await writer.store.lock(all, work.sql) }
        let zones = try await ZoneRepository.histories(of: users, work.sql)
        for checkIn in checkIns {
            let circles = circles[checkIn.user] ?? []
            let streaks = teams.filter { circles.contains($0.circle) }.map(\.streak) + (left[checkIn.user] ?? [])
            try await contribute(checkIn, to: streaks, zones[checkIn.user] ?? ZoneHistory(.utc), work)
            let entry = StoredCheckIn(
                id: work.ids.make(),
                user: checkIn.user,
                date: checkIn.date,
                at: checkIn.at,
                isToCircle: false,
                streakCount: checkIn.count
            )
            guard !circles.isEmpty else { continue }
            try await FeedRepository.add(entry, to: circles, ids: circles.map { _ in work.ids.make() }, work.sql)
        }
    }

    /// A late check-in's date ended at most so long before it was received (SD-2), travel included.
    private static let reach = Interval.days(2)

    /// A member's own check-in of a date: it contributes to every circle. Counted before, it counts nothing; one that follows from a check-in to a
    /// circle was counted there with that.
    ///
    /// While a circle's streak lives on by a grace, the contribution saves the date before; the member's own date gets one as well, since
    /// they cannot do the check-in of a date twice.
    private func contribute(_ checkIn: OwnCheckIn, to streaks: [StreakID], _ zones: ZoneHistory, _ work: UnitOfWork) async throws
    {
        guard !streaks.isEmpty else { return }
        let (user, date, instant) = (checkIn.user, checkIn.date, checkIn.at)
        // A late check-in was claimed by the client's clock (SD-2): any instant of its date says the same.
        let captured = zones.date(at: instant) > date ? zones.end(of: date) - .seconds(1) : nil
        let command = StreakCommand.contribute(user, receivedAt: instant, capturedAt: captured)
        var stored = try await writer.store.lock(streaks, work.sql)
        stored.removeAll { $0.ledger.hasContribution(of: user, receivedAt: instant) }
        for isSecond in [false, true] {
            // The first contribution may have been to the date before.
            if isSecond { stored = try await writer.store.lock(stored.map(\.row.id), work.sql) }
            let open = stored.filter { !$0.ledger.hasContributed(user, on: date, known: max(work.now, $0.row.settledAt)) }
            guard !open.isEmpty else { break }
            for outcome in try await writer.apply(command, toEach: open, work) {
                if case .failure(let refusal) = outcome, !Self.countsNothing(refusal) { throw refusal }
            }
        }
    }

    /// Refusals that are no error of the check-in's.
    private static func countsNothing(_ refusal: ServiceError) -> Bool {
        ["ALREADY_POSTED", "NOT_A_MEMBER", "STREAK_NOT_ACTIVE"].contains(refusal.reason)
    }
}
