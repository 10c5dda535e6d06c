package import Kernel
package import StreaksDomain

/// What a completion has besides its date and amount: none of it decides a verdict.
package struct CompletionDetails: Hashable, Sendable {
    /// At most 100 characters.
    package var note: String
    package var mood: HabitMood?
    /// When it was done; nil when only its date is known.
    package var doneAt: Instant?
    /// The minute of the day by the user's clock then, 0…1439.
    package var minute: Int?

    package init(note: String = "", mood: HabitMood? = nil, doneAt: Instant? = nil, minute: Int? = nil) {
        (self.note, self.mood, self.doneAt, self.minute) = (note, mood, doneAt, minute)
    }
}

/// On whose behalf entries of a habit are written.
package struct HabitOrigin: Sendable {
    package let user: UserID
    /// The number of the change (HA-7).
    package let sequence: Int64
    /// Of the completions that are new.
    package var details: [CompletionID: CompletionDetails]

    package init(user: UserID, sequence: Int64, details: [CompletionID: CompletionDetails] = [:]) {
        (self.user, self.sequence, self.details) = (user, sequence, details)
    }
}

/// What a change added to, changed in and deleted from the ledger of a habit.
struct HabitLedgerEntries: Sendable {
    var origin: HabitOrigin?
    var added: [StreakLedger.Contribution] = []
    /// Completions with another amount.
    var changed: [StreakLedger.Contribution] = []
    var deleted: [CompletionID] = []
    /// All of them, when they are others than before.
    var versions: [HabitEntries.Version]?
    var skipped: [CalendarDate] = []
    var unskipped: [CalendarDate] = []
    /// All of them, when they are others than before.
    var archivings: [HabitEntries.Archiving]?
    /// The new ones, and how many there were.
    var reported: [HabitEntries.Reported] = []
    var reportedBefore = 0
    /// Another start (HA-11): the inner value may be nil.
    var startsOn: CalendarDate??

    /// The difference of two ledgers of a habit; both from the same checkpoint. nil when there is none.
    init?(from before: StreakLedger, to after: StreakLedger) {
        guard let old = before.habit, let new = after.habit else { return nil }
        if before.contributions != after.contributions { compare(before.contributions, after.contributions) }
        if old.versions != new.versions { versions = new.versions }
        if old.skips != new.skips {
            skipped = new.skips.subtracting(old.skips).sorted()
            unskipped = old.skips.subtracting(new.skips).sorted()
        }
        if old.archivings != new.archivings { archivings = new.archivings }
        reportedBefore = old.reported.count
        reported = Array(new.reported.dropFirst(old.reported.count))
        if old.startsOn != new.startsOn { startsOn = .some(new.startsOn) }
        if isEmpty { return nil }
    }

    /// All entries of a habit that has just begun.
    init(start ledger: StreakLedger, _ habit: HabitEntries) {
        versions = habit.versions
        skipped = habit.skips.sorted()
        archivings = habit.archivings.isEmpty ? nil : habit.archivings
        reported = habit.reported
    }

    private var isEmpty: Bool {
        added.isEmpty && changed.isEmpty && deleted.isEmpty && versions == nil && skipped.isEmpty && unskipped.isEmpty
            && archivings == nil && reported.isEmpty && startsOn == nil
    }

    private mutating func compare(
        _ before: [CalendarDate: [StreakLedger.Contribution]],
        _ after: [CalendarDate: [StreakLedger.Contribution]]
    ) {
        for (date, now) in after where before[date] != now {
            let known = Dictionary((before[date] ?? []).compactMap { entry in entry.id.map { ($0, entry) } }) { first, _ in first
            }
            for entry in now {
                guard let id = entry.id else { continue }
                guard let old = known[id] else {
                    added.append(entry)
                    continue
                }
                if old.amount != entry.amount { changed.append(entry) }
            }
        }
        for (date, old) in before where after[date] != old {
            let kept = Set((after[date] ?? []).compactMap(\.id))
            deleted += old.compactMap(\.id).filter { !kept.contains($0) }
        }
    }
}
