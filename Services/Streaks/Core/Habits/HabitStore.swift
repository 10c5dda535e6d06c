package import Bus
package import Database
package import Kernel
package import Outbox
package import Replicas
package import ServiceRuntime
package import StreaksDomain

/// The habits of users: what every feature about habits reads and changes them by (HA-*).
///
/// A habit is a streak of the kind `habit` with a row of its own beside it. What became of its dates is stored (`habit_day`, `habit_run`), as of a date of the
/// user's clock. Reading begins with `refresh`, changing with `open`.
package struct HabitStore: Sendable {
    package let writer: StreakWriter
    package let profiles: ProfileReplica
    package let work: UnitOfWorkFactory
    let quotas: Quotas
    package var database: Database { writer.store.database }

    package init(writer: StreakWriter, profiles: ProfileReplica, work: UnitOfWorkFactory, quotas: Quotas = Quotas()) {
        (self.writer, self.profiles, self.work, self.quotas) = (writer, profiles, work, quotas)
    }

    /// From what the features of `streaks` share.
    package init(_ core: StreaksCore, work: UnitOfWorkFactory) {
        self.init(writer: core.writer, profiles: core.profiles, work: work, quotas: core.quotas)
    }

    /// Brings what is stored of a user's habits to the date that their clock shows: settles what is due, and writes the dates since. Those in the
    /// archive stay as they were.
    ///
    /// - Returns: that date.
    package func refresh(_ user: UserID, _ context: CallContext) async throws -> HabitDate {
        let date = try await self.date(of: user, context)
        let outdated = try await HabitRepository.outdated(of: user, today: date.today, database)
        guard !outdated.isEmpty else { return date }
        try await work.run(context) { work in
            // The account first, as changes do; a user with habits has one.
            _ = try await HabitAccountRepository.open(user, at: work.now, ids: work.ids, work.sql)
            try await bringUpToDate(try await writer.store.lock(outdated, work.sql), work)
        }
        return date
    }

    /// The date that a user's clock shows now.
    package func date(of user: UserID, _ context: CallContext) async throws -> HabitDate {
        if let zones = try await ZoneRepository.histories(of: [user], database)[user] { return HabitDate(zones, at: work.now()) }
        guard let profile = try await profiles.profiles([user], context: context)[user] else {
            return HabitDate(ZoneHistory(.utc), at: work.now())
        }
        return HabitDate(ZoneHistory(profile.zone), at: work.now())
    }

    /// Runs `body`; once more when nothing was known of the user here, and they have been asked for (`ProfileReplica.knowing`).
    package func knowing<Result>(_ user: UserID, _ context: CallContext, _ body: () async throws -> Result) async throws -> Result
    {
        try await profiles.knowing(user, or: .unknownHabitUser, context: context, body)
    }

    /// Begins a change of a user's habits: their account is locked until the end of the transaction, so that changes of one user come one after the other,
    /// and the change has a number (HA-7).
    ///
    /// - Throws: `ServiceError.unknownHabitUser` when nothing is known of the user here yet (`knowing`).
    package func open(_ user: UserID, _ work: UnitOfWork) async throws -> HabitBook {
        try await opened(try QueuedBook(user, work), work)
    }

    /// The second part of `open`.
    func opened(_ queued: QueuedBook, _ work: UnitOfWork) async throws -> HabitBook {
        let account = try await HabitAccountRepository.opened(queued.account, queued.user, at: work.now, ids: work.ids, work.sql)
        let zones = try await known(queued.zones, of: queued.user, work)
        let isPremium = try await queued.isPremium.rows().first?.decode(as: Bool.self) ?? false
        let news = HabitNews()
        work.emitLast { news.event(of: account.user, account.sequence) }
        return HabitBook(
            store: self,
            work: work,
            account: account,
            date: HabitDate(zones, at: work.now),
            isPremium: isPremium,
            news: news
        )
    }

    private func known(_ zones: QueuedStatement, of user: UserID, _ work: UnitOfWork) async throws -> ZoneHistory {
        if let known = try await ZoneRepository.histories(try await zones.rows())[user] { return known }
        guard let profile = try await profiles.knownHere([user], work.sql)[user], profile.status != .deleted else {
            throw ServiceError.unknownHabitUser
        }
        _ = try await ZoneRepository.add(profile.zone, of: user, since: profile.zoneSince, work.sql)
        return try await ZoneRepository.histories(of: [user], work.sql)[user] ?? ZoneHistory(profile.zone)
    }

    /// Settles locked habits, and makes the rows of those again whose user's clock has changed its past.
    func bringUpToDate(_ stored: [StoredStreak], _ work: UnitOfWork) async throws {
        let settled = try await writer.settle(stored, work)
        let stale = try await HabitRepository.staleStreaks(among: settled.map(\.row.id), work.sql)
        guard !stale.isEmpty else { return }
        let rows = try await writer.store.load(stale, isWhole: true, work.sql)
        let policy = writer.policy(for: .habit)
        try HabitDays.store(
            rows.compactMap { whole in
                fold(whole.ledger, policy, at: max(work.now, whole.row.settledAt)).habit.map {
                    HabitDays.Change(whole: $0, of: whole.row.id)
                }
            },
            work.sql
        )
    }
}

/// A date as a user's clock shows it.
package struct HabitDate: Sendable {
    package let today: CalendarDate
    package let now: Instant
    package let zones: ZoneHistory

    package init(_ zones: ZoneHistory, at now: Instant) {
        (self.zones, self.now, today) = (zones, now, zones.date(at: now))
    }

    /// The minute of the day that the user's clock showed at an instant, 0…1439.
    package func minute(at instant: Instant) -> Int { Int(zones.zone(at: instant).secondOfDay(at: instant) / 60) }
}

extension ServiceError {
    /// Nothing has come of the user yet, by whose clock their dates would be.
    static let unknownHabitUser = ServiceError.unavailable("Your profile is not known here yet, please try again.")
    package static let habitNotFound = ServiceError(.notFound, "HABIT_NOT_FOUND", "There is no such habit.")
    package static let categoryNotFound = ServiceError(.notFound, "CATEGORY_NOT_FOUND", "There is no such category.")
    package static let habitNameTaken = ServiceError(
        .alreadyExists,
        "HABIT_NAME_TAKEN",
        "You have a habit of this name already.",
        details: [.init(field: "name", message: "is taken")]
    )
    package static let categoryNameTaken = ServiceError(
        .alreadyExists,
        "CATEGORY_NAME_TAKEN",
        "You have a category of this name already.",
        details: [.init(field: "name", message: "is taken")]
    )
    package static let tooManyHabits = ServiceError(
        .failedPrecondition,
        "TOO_MANY_HABITS",
        "An account has at most \(HabitLimits.mostHabits) habits, those in the archive too."
    )

    /// A file has more habits than fit.
    static func tooManyHabits(adding added: Int, room: Int) -> ServiceError {
        ServiceError(
            .failedPrecondition,
            tooManyHabits.reason,
            "This brings \(added) habits, and there is room for \(room). \(tooManyHabits.message) Delete habits, or import fewer."
        )
    }

    /// As many habits were deleted lately as an account may have beside those it has.
    static let tooManyDeletedHabits = quotaExceeded(
        storedHabits,
        most: HabitLimits.mostStored,
        remedy: goneHabits
    )

    /// A file has more habits than fit beside those that were deleted lately.
    static func tooManyDeletedHabits(adding added: Int, room: Int) -> ServiceError {
        quotaExceeded(storedHabits, adding: added, room: room, most: HabitLimits.mostStored, remedy: goneHabits)
    }

    private static let storedHabits = "habits, those deleted within 30 days included"
    private static let goneHabits = "Delete all habit data, or wait until deleted habits are gone."

    package static func habitLimitReached(_ limit: Int) -> ServiceError {
        ServiceError(.failedPrecondition, "HABIT_LIMIT_REACHED", "Your plan allows \(limit) active habits.")
    }

    package static func categoryLimitReached(_ limit: Int) -> ServiceError {
        ServiceError(.failedPrecondition, "CATEGORY_LIMIT_REACHED", "Your plan allows \(limit) categories of your own.")
    }

    package static func premiumHabits(_ what: String) -> ServiceError {
        ServiceError(.permissionDenied, "PREMIUM_REQUIRED", "\(what) is for premium users.")
    }
}
