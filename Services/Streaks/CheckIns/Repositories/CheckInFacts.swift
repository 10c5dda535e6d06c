internal import Database
internal import Kernel
internal import Replicas
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// What a report is recorded by, beside the streak: read by one statement, with the lock of the streak.
struct CheckInFacts: Sendable {
    /// Dates that a report may be for, back from that of its receipt in UTC: those of SD-2 in any zone. For an older one the entry is read
    /// again.
    private static let reach = 4

    let stepsGoal: Int32?
    let isPremium: Bool
    let isBoosted: Bool
    /// Shields in the stock.
    let shields: Int32
    let lastCheckIn: CheckedInDate?
    /// From this date on, `entry` knows what there is.
    private let firstDate: CalendarDate
    private let entries: [CalendarDate: TrackingEntry]

    static func query(of user: UserID, receivedAt: Instant, now: Instant) -> Query {
        """
        SELECT \(firstDate(receivedAt)), \(TrackingRepository.stepsGoal(of: user)), \(EntitlementReplica.isPremium(user, now: now)),
            \(Boosters.isActive(user, at: now)), \(GoodsStock.countOf(.shield, of: user)),
            \(TrackingRepository.recent(of: user, from: firstDate(receivedAt)))
        """
    }

    init(_ rows: [Row]) throws {
        guard let row = rows.first else { throw ServiceError.internal }
        firstDate = try row.get(at: 0)
        stepsGoal = try row.get(at: 1)
        isPremium = try row.get(at: 2)
        isBoosted = try row.get(at: 3)
        shields = try row.get(at: 4)
        lastCheckIn = try TrackingRepository.lastCheckIn(row, at: 5)
        entries = try TrackingRepository.entries(rows, at: 7)
    }

    /// Whether the entry of a date is known, or that there is none.
    func isKnown(_ date: CalendarDate) -> Bool { date >= firstDate }

    /// What was reported for a date before.
    func entry(_ date: CalendarDate) -> TrackingEntry? { entries[date] }

    private static func firstDate(_ receivedAt: Instant) -> CalendarDate { Zone.utc.date(at: receivedAt).advanced(by: -reach) }
}

/// A date with a check-in, and when that was received.
struct CheckedInDate: Sendable {
    let date: CalendarDate
    let at: Instant
}

/// What the status shows beside the streak, by one statement.
struct StatusFacts: Sendable {
    let isPremium: Bool
    let lastCheckIn: CheckedInDate?
    /// The last date that a freeze was spent on.
    let lastFreeze: CalendarDate?
    private let freezes: [CalendarDate]
    private let entries: [CalendarDate: TrackingEntry]

    static func query(of user: UserID, now: Instant) -> Query {
        let today = Zone.utc.date(at: now)
        // A week back from today by any clock, and today by any clock.
        return """
            SELECT \(EntitlementReplica.isPremium(user, now: now)), \(CheckInRepository.freezes(of: user, since: today.advanced(by: -8))),
                \(TrackingRepository.recent(of: user, from: today.advanced(by: -2)))
            """
    }

    init(_ rows: [Row]) throws {
        guard let row = rows.first else { throw ServiceError.internal }
        isPremium = try row.get(at: 0)
        lastFreeze = try row.get(at: 1)
        freezes = try row.get(at: 2)
        lastCheckIn = try TrackingRepository.lastCheckIn(row, at: 3)
        entries = try TrackingRepository.entries(rows, at: 5)
    }

    /// How many freezes were spent on dates since then; at most a week ago.
    func freezes(since date: CalendarDate) -> Int32 { Int32(clamping: freezes.count { $0 >= date }) }

    /// What was reported for a date; at most the day before yesterday.
    func entry(_ date: CalendarDate) -> TrackingEntry? { entries[date] }
}

extension TrackingEntry {
    /// The entry of a date with a report added to it, as `TrackingRepository.store` writes it.
    ///
    /// - Parameters:
    ///   - known: what it was; nil when there was none.
    ///   - id: of a new one.
    ///   - checkedInAt: when the report was received, if it is the date's check-in.
    static func adding(
        _ report: TrackingReport,
        _ activities: [String],
        to known: TrackingEntry?,
        id: TrackingEntryID,
        on date: CalendarDate,
        checkedInAt: Instant?,
        at now: Instant
    ) -> TrackingEntry {
        let checkInTime = known?.checkInTimestamp ?? checkedInAt
        let before = known?.activities ?? []
        return TrackingEntry(
            id: known?.id ?? id,
            trackingDate: date,
            moodScore: report.mood ?? known?.moodScore,
            energyLevel: report.energy ?? known?.energyLevel,
            weightKg: report.weight ?? known?.weightKg,
            steps: report.steps ?? known?.steps,
            createdAt: known?.createdAt ?? now,
            updatedAt: known == nil ? nil : now,
            notes: report.notes ?? known?.notes,
            yesterdayFeeling: known?.yesterdayFeeling ?? (checkedInAt == nil ? nil : report.yesterdayFeeling),
            isStreakCheckIn: checkInTime != nil,
            checkInTimestamp: checkInTime,
            activities: before + activities.filter { !before.contains($0) }
        )
    }
}
