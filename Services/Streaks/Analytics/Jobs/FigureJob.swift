internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import StreaksCore
internal import StreaksDomain

/// Adds what events said to the figures (TS-5): some thousand facts in one transaction, which deletes them, so that each counts
/// once.
///
/// The number of running streaks and their counts follow from the streaks themselves and not from the facts: whatever a fact
/// says, the streak is compared with what of it is in the figures, and they change by the difference. So they are exact whatever
/// changed a count. The facts say for which dates: what arrives after a day has closed still changes that day.
///
/// Who did something for a date is compared with who is counted for it (`ActiveUserRepository`).
struct FigureJob: Sendable {
    private static let mostAtOnce = 5_000

    let store: StreakStore
    let work: UnitOfWorkFactory

    var job: Job { Job("analytics", every: .seconds(2)) { _ in try await addFacts() } }

    /// - Returns: how many facts and activities were added.
    func addFacts() async throws -> Int {
        try await work.run(trace: "", requestID: "") { work in
            // One replica at a time: of one streak the order of facts counts.
            try await work.sql.lock(named: "analytics")
            return try await addFacts(work) + addActiveUsers(work)
        }
    }

    private func addFacts(_ work: UnitOfWork) async throws -> Int {
        let facts = try await FactRepository.take(Self.mostAtOnce, work.sql)
        guard !facts.isEmpty else { return 0 }
        var sums = facts.filter { $0.amount != 0 }.map { fact in
            AnalyticsFigures.Sum(day: fact.day, kind: fact.kind, fact.metric, bucket: fact.bucket, value: fact.amount)
        }
        let ids = Array(Set(facts.compactMap(\.streak)))
        if !ids.isEmpty {
            let present = try await GaugeRepository.present(ids, work.sql)
            sums += try await difference(ids, facts, present, work)
            try await follow(facts, present, work)
        }
        try await FigureRepository.add(sums, work.sql)
        return facts.count
    }

    private func addActiveUsers(_ work: UnitOfWork) async throws -> Int {
        let taken = try await ActiveUserRepository.take(Self.mostAtOnce, today: Zone.utc.date(at: work.now), work.sql)
        try await FigureRepository.add(
            taken.fresh.map { AnalyticsFigures.Sum(day: $0, kind: nil, .activeUser, bucket: 0, value: 1) },
            work.sql
        )
        return taken.count
    }

    /// What has changed in these streaks since they were looked at, by the dates that the facts are for.
    private func difference(
        _ ids: [StreakID],
        _ facts: [Fact],
        _ present: [StreakID: GaugeRepository.Streak],
        _ work: UnitOfWork
    ) async throws -> [AnalyticsFigures.Sum] {
        let counted = try await GaugeRepository.counted(ids, work.sql)
        var (kinds, days): ([StreakID: StreakKind], [StreakID: [CalendarDate: StreakGauge.Day]]) = ([:], [:])
        for fact in facts {
            guard let streak = fact.streak, let kind = fact.kind else { continue }
            kinds[streak] = kind
            if let date = fact.dateOfCount { fact.note(in: &days[streak, default: [:]][date, default: .init(date)]) }
        }
        let today = Zone.utc.date(at: work.now)
        var sums: [AnalyticsFigures.Sum] = []
        for id in ids {
            let known = (days[id] ?? [:]).values.sorted { $0.date < $1.date }
            for (day, changes) in StreakGauge.changes(from: counted[id], by: known, to: present[id]?.gauge, today: today) {
                sums += changes.map {
                    AnalyticsFigures.Sum(day: day, kind: kinds[id], $0.metric, bucket: $0.bucket, value: $0.amount)
                }
            }
        }
        let changed = present.mapValues(\.gauge).filter { counted[$0.key] != $0.value }
        let gone = ids.filter { present[$0] == nil && counted[$0] != nil }
        try await GaugeRepository.store(changed, gone: gone, work.sql)
        return sums
    }

    /// Follows the runs: those that grew, and those that ended. Where an end was undone, runs may have become one, or begin elsewhere: those of
    /// such a streak are read from its ledger.
    private func follow(_ facts: [Fact], _ present: [StreakID: GaugeRepository.Streak], _ work: UnitOfWork) async throws {
        var grown: Set<RunStart> = []
        var ends: [StreakID: [CalendarDate]] = [:]
        var undone: Set<StreakID> = []
        for fact in facts {
            guard let streak = fact.streak, let date = fact.runDate, let kind = fact.kind else { continue }
            switch fact.metric {
            case .active, .filled, .freezeUsed: grown.insert(RunStart(streak: streak, start: date, kind: kind))
            case .broken: ends[streak, default: []].append(date)
            case .restored: undone.insert(streak)
            default: break
            }
        }
        try await RunRepository.add(
            grown.filter { !undone.contains($0.streak) }.map { ($0.streak, $0.start, $0.kind) },
            work.sql
        )
        try await RunRepository.end(
            ends.filter { !undone.contains($0.key) }.flatMap { streak, dates in dates.map { (streak, $0) } },
            work.sql
        )
        if !undone.isEmpty { try await read(Array(undone), work) }
        let running = present.compactMap { id, streak in streak.runStart.map { (streak: id, start: $0, kind: streak.kind) } }
        try await RunRepository.align(running, work.sql)
    }

    private func read(_ ids: [StreakID], _ work: UnitOfWork) async throws {
        var runs: [RunRepository.Run] = []
        for stored in try await store.load(ids, isWhole: true, work.sql) {
            let state = fold(stored.ledger, store.policies.policy(for: stored.row.kind), at: stored.row.settledAt)
            runs += StreakRun.all(stored.ledger, state, restored: []).map { run in
                // A run that a moderator or the end of the account ended has missed no date.
                let brokenOn = run.reason == .running ? nil : run.missed ?? run.end.advanced(by: 1)
                return RunRepository.Run(
                    streak: stored.row.id,
                    start: run.start,
                    kind: stored.row.kind,
                    brokenOn: brokenOn
                )
            }
        }
        try await RunRepository.replace(of: ids, by: runs, work.sql)
    }

    private struct RunStart: Hashable {
        let streak: StreakID
        let start: CalendarDate
        let kind: StreakKind
    }
}
