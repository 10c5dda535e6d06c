public import Kernel

/// What a person gets of their habits at an hour of their date: that some are open, or a word of motivation.
public struct HabitDayReminder: Hashable, Sendable {
    public let date: CalendarDate
    public let at: Instant
    /// From then on it is of no use and is dropped (NO-6).
    public let until: Instant
}

/// The reminders of one person's habits, by their clock at an instant.
///
/// Nothing is planned ahead: the job asks what is due now, and when to ask again. After a change of zone, reminder or schedule it asks again
/// at once.
public struct HabitReminderPlan: Hashable, Sendable {
    /// How long a reminder is of use, within its date: long enough to come at the end of quiet hours, short enough not to surprise.
    static let useful = Interval.hours(3)
    /// When a person with something open is reminded of it.
    static let eveningHour: Int64 = 20
    /// Motivation comes from 9 to 20 h, the latter excluded.
    static let motivationHours: Range<Int64> = 9..<20
    static let motivationUseful = Interval.hours(2)

    private let zones: ZoneHistory
    private let zone: Zone
    private let now: Instant

    public init(zones: ZoneHistory, at now: Instant) {
        self.now = now
        self.zones = zones.known(at: now)
        zone = zones.zone(at: now)
    }

    // MARK: - A habit's own

    /// What of a habit is due now and still of use: its time, or that it was put off. At most one: the later one. It is on one of the
    /// reminder's weekdays; whether the schedule has its date, `HabitState.isOpen` says.
    public func due(_ reminder: HabitReminder) -> DueHabitReminder? {
        (times(reminder) + [repeated(reminder)]).compactMap { $0 }.filter { $0.at <= now && now < $0.until }
            .max { ($0.at, $0.isRepeat ? 0 : 1) < ($1.at, $1.isRepeat ? 0 : 1) }
    }

    /// When the next one may be due, whether the schedule has its date or not; nil: not within three dates.
    ///
    /// - Parameter reminder: with what is due now noted in it.
    public func next(_ reminder: HabitReminder) -> Instant? {
        (times(reminder) + [repeated(reminder)]).compactMap { $0?.at }.filter { $0 > now }.min()
    }

    private func times(_ reminder: HabitReminder) -> [DueHabitReminder?] {
        near.map { date in
            guard reminder.time.days?.contains(date.weekday) ?? true,
                let (at, end) = time(second: Int64(reminder.time.minute) * 60, on: date), reminder.awaits(date, at: at)
            else { return nil }
            let until = min(at + Self.useful, end)
            return DueHabitReminder(date: date, at: at, until: until, number: reminder.number(on: date), isRepeat: false)
        }
    }

    private func repeated(_ reminder: HabitReminder) -> DueHabitReminder? {
        guard let snoozes = reminder.snoozes, let at = snoozes.at else { return nil }
        let until = min(at + Self.useful, zones.end(of: snoozes.date))
        guard at < until else { return nil }
        return DueHabitReminder(date: snoozes.date, at: at, until: until, number: snoozes.count, isRepeat: true)
    }

    // MARK: - Of a whole date

    /// The evening's reminder that something is open, when it is due now; at most one.
    ///
    /// - Parameters:
    ///   - since: earlier ones are left out.
    ///   - handled: the newest date whose evening was handled.
    public func evening(since: Instant, handled: CalendarDate?) -> HabitDayReminder? {
        due(evenings(since: since, handled: handled))
    }

    /// The next evening.
    public func nextEvening(since: Instant, handled: CalendarDate?) -> Instant? { next(evenings(since: since, handled: handled)) }

    /// A word of motivation, when it is due now; at most one.
    public func motivation(of user: UserID, since: Instant, handled: CalendarDate?) -> HabitDayReminder? {
        due(motivations(of: user, since: since, handled: handled))
    }

    /// The next word of motivation.
    public func nextMotivation(of user: UserID, since: Instant, handled: CalendarDate?) -> Instant? {
        next(motivations(of: user, since: since, handled: handled))
    }

    private func due(_ reminders: [HabitDayReminder]) -> HabitDayReminder? {
        reminders.filter { $0.at <= now && now < $0.until }.max { $0.at < $1.at }
    }

    private func next(_ reminders: [HabitDayReminder]) -> Instant? { reminders.map(\.at).filter { $0 > now }.min() }

    private func evenings(since: Instant, handled: CalendarDate?) -> [HabitDayReminder] {
        reminders(since: since, handled: handled) { _ in (Self.eveningHour * 3_600, .hours(24)) }
    }

    private func motivations(of user: UserID, since: Instant, handled: CalendarDate?) -> [HabitDayReminder] {
        reminders(since: since, handled: handled) { (Self.motivationMinute(of: user, on: $0) * 60, Self.motivationUseful) }
    }

    /// - Parameter at: the second of the local day, and for how long it is of use at most.
    private func reminders(since: Instant, handled: CalendarDate?, at: (CalendarDate) -> (second: Int64, useful: Interval))
        -> [HabitDayReminder]
    {
        near.compactMap { date in
            let (second, useful) = at(date)
            guard handled.map({ $0 < date }) ?? true, let (at, end) = time(second: second, on: date), at >= since else {
                return nil
            }
            return HabitDayReminder(date: date, at: at, until: min(at + useful, end))
        }
    }

    /// The minute of the local day of a person's motivation: evenly spread over people and dates, and the same in every process.
    static func motivationMinute(of user: UserID, on date: CalendarDate) -> Int64 {
        let minutes = UInt64(motivationHours.count * 60)
        return motivationHours.lowerBound * 60 + Int64(spread(user, UInt64(bitPattern: Int64(date.dayNumber))) % minutes)
    }

    /// Which word of motivation a date has: all of them in turn, each person from another one on. Never negative.
    public static func motivationNumber(of user: UserID, on date: CalendarDate) -> Int32 {
        Int32(truncatingIfNeeded: (spread(user, 0) & 0xFFFF) + UInt64(clamping: date.dayNumber))
    }

    /// SplitMix64's finalizer (Steele, Lea, Flood 2014) over ids and dates, which differ in few bits.
    private static func spread(_ user: UserID, _ salt: UInt64) -> UInt64 {
        var hash = user.high ^ mixed(user.low ^ mixed(salt &+ 0x9E37_79B9_7F4A_7C15))
        hash = mixed(hash)
        return hash
    }

    private static func mixed(_ value: UInt64) -> UInt64 {
        var hash = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        hash = (hash ^ (hash >> 27)) &* 0x94D0_49BB_1331_11EB
        return hash ^ (hash >> 31)
    }

    // MARK: - The clock

    private var near: [CalendarDate] {
        let today = zone.date(at: now)
        return (-1...3).map { today.advanced(by: $0) }
    }

    /// When the clock shows a time of a date, and when the date is over; nil when it is over before. A time that the date skips is the first
    /// minute after it; one that it has twice is the first.
    private func time(second: Int64, on date: CalendarDate) -> (at: Instant, end: Instant)? {
        let (start, end) = (zone.start(of: date), zones.end(of: date))
        // A zone may leave a date out (Apia, 2011-12-30).
        guard start < zone.end(of: date) else { return nil }
        let at = SnapWindow.first(showing: Int64(date.dayNumber) * 86_400 + second, in: zone, on: date)
        return at < end ? (at, end) : nil
    }
}

extension HabitDaySummary {
    /// How many are still to be done on the date: the evening's number (HA-18).
    public var left: Int { total - done }
}
