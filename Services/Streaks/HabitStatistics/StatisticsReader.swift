internal import Bus
internal import Kernel
internal import Replicas
internal import StreaksCore
internal import StreaksDomain

/// What the handlers of statistics read first: the caller, their date, their plan and their habits.
struct StatisticsReader: Sendable {
    let habits: HabitStore
    let cache: MarkCache

    init(habits: HabitStore, cache: MarkCache = MarkCache()) { (self.habits, self.cache) = (habits, cache) }

    /// A caller's habits as of the date that their clock shows.
    struct Scene: Sendable {
        let user: UserID
        let date: HabitDate
        let isPremium: Bool
        let account: HabitAccount
        /// Those that were asked for, in their order.
        let records: [HabitRecord]
        var today: CalendarDate { date.today }
        /// The weekday that the user's weeks begin with, 0 = Sunday … 6.
        var weekStart: Int { account.settings.firstDayOfWeek }

        /// The first date of a habit (HA-11).
        func start(of record: HabitRecord) -> CalendarDate { record.startDate(date.zones) }

        /// The date on which it stopped being judged: of a habit in the archive the one on which it went there, also when it was changed or
        /// counted anew since.
        func lastDate(of record: HabitRecord) -> CalendarDate {
            guard let archivedAt = record.archivedAt else { return today }
            return min(today, record.asOf, date.zones.date(at: archivedAt))
        }
    }

    /// Brings the caller's habits up to date and reads them.
    ///
    /// - Parameters:
    ///   - which: which of their habits; never deleted ones.
    ///   - needsPremium: what is for premium users only; nil: nothing.
    /// - Throws: `PREMIUM_REQUIRED`.
    func open(_ context: CallContext, _ which: HabitSelection, needsPremium: String? = nil) async throws -> Scene {
        let user = try context.requireUser()
        let isPremium = try await EntitlementReplica().isPremium(user, now: habits.work.now(), habits.database)
        if let needsPremium, !isPremium { throw ServiceError.premiumHabits(needsPremium) }
        let date = try await habits.refresh(user, context)
        let account = try await HabitAccountRepository.find(user, at: habits.work.now(), habits.database)
        let records = try await HabitRepository.records(of: user, where: which.condition, habits.database)
        return Scene(user: user, date: date, isPremium: isPremium, account: account, records: records)
    }

    /// - Throws: `VALIDATION_ERROR` when one of these is no category of the user.
    func check(_ categories: [HabitCategoryID], of user: UserID) async throws {
        guard !categories.isEmpty else { return }
        let known = Set(try await HabitAccountRepository.categories(of: user, habits.database).map(\.id))
        guard known.isSuperset(of: categories) else {
            throw ServiceError.validation(field: "category_id", "is no category of yours")
        }
    }
}

extension HabitWindow {
    /// By its name in requests; the week when there is none.
    init(named name: String) {
        self =
            switch name {
            case "month": .month
            case "year": .year
            case "all": .allTime
            default: .week
            }
    }

    var name: String {
        switch self {
        case .week: "week"
        case .month: "month"
        case .year: "year"
        case .allTime: "all"
        }
    }

    /// What a user must have premium for (HA-17); nil for the week.
    var needsPremium: String? { self == .week ? nil : "A period of more than a week" }
}

extension HabitRecord {
    /// The milestones of its unit (HA-11).
    var milestones: Milestones { unit == .weeks ? .habitWeeks : .habitDates }
}
