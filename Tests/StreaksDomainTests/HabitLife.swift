import Kernel
import StreaksDomain

/// A habit as the feature keeps it: a ledger that is compacted after every step, all rows beside it, and a stored row for each date.
struct HabitLife {
    static let user = UserID(high: 5, low: 1)

    var ledger: StreakLedger
    /// Everything that ever was, as the feature's rows hold it.
    private(set) var whole: StreakLedger
    private(set) var days: [CalendarDate: HabitDay] = [:]
    private(set) var runs: [HabitRun] = []
    private(set) var settledAt: Instant?
    /// How often the rows had to be loaded from the start.
    private(set) var reloads = 0
    private let isCompacted: Bool

    init(_ zone: Zone, from start: Instant, _ version: (CalendarDate) -> HabitEntries.Version, isCompacted: Bool = true) {
        let participant = StreakLedger.Participant(Self.user, zone: zone)
        ledger = StreakLedger(start: start, participants: [participant], habit: HabitEntries(version(zone.date(at: start))))
        whole = ledger
        self.isCompacted = isCompacted
    }

    /// Applies the command on the checkpoint, or from the start when it reaches behind it.
    @discardableResult
    mutating func apply(_ command: StreakCommand, at now: Instant) throws(ServiceError) -> StreakChange {
        var base = ledger
        let change: StreakChange
        do throws(ServiceError) {
            change = try base.applying(command, .habit, at: now, settledAt: settledAt)
        } catch {
            guard error == .ledgerTooShort else { throw error }
            reloads += 1
            base = whole
            change = try base.applying(command, .habit, at: now, settledAt: settledAt)
        }
        store(change, since: base.base.settledThrough)
        settledAt = now
        return change
    }

    private mutating func store(_ change: StreakChange, since settled: CalendarDate) {
        let next = change.ledger
        // Applied from the start, the ledger has them all.
        var rows = settled < whole.firstDate ? [:] : whole.contributions.filter { $0.key <= settled }
        for (date, list) in next.contributions { rows[date] = list }
        var entries = next.habit
        entries = entries.map { known in
            HabitEntries(
                known.versions[0],
                later: Array(known.versions.dropFirst()),
                skips: known.skips.union(whole.habit?.skips.filter { $0 <= next.base.settledThrough } ?? []),
                archivings: known.archivings,
                reported: known.reported
            )
        }
        let pauses = whole.pauses.filter { old in !next.pauses.contains { $0.at == old.at } } + next.pauses
        let outages = whole.outages.filter { !next.outages.contains($0) } + next.outages
        whole = StreakLedger(
            start: next.start,
            participants: next.participants,
            contributions: rows.values.flatMap { $0 },
            pauses: pauses,
            outages: outages,
            habit: entries
        )
        keep(change.state, since: next.base.settledThrough)
        ledger = isCompacted ? next.compacted(.habit, at: change.state.asOf) : next
    }

    /// What the feature writes: the days after the checkpoint replace those that it has, and so do the runs that reach behind it. Where the
    /// start moves on, as when a completion before it is deleted, what lies before goes.
    private mutating func keep(_ state: StreakState, since settled: CalendarDate) {
        guard let habit = state.habit else { return }
        days = days.filter { $0.key <= settled && $0.key >= habit.startsOn }.merging(habit.days) { $1 }
        let first = habit.runs.first?.from
        let earlier = runs.filter { $0.end != nil && $0.from >= habit.startsOn && $0.through <= settled }
        runs = earlier.filter { run in first.map { run.from < $0 } ?? true } + habit.runs
    }
}
