internal import Bus
internal import Database
internal import Kernel
internal import Replicas
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Reads what belongs to a user's habits as a whole.
struct HabitAccounts: Sendable {
    let habits: HabitStore

    /// A user's plan, settings and number of habits.
    struct Overview: Sendable {
        let account: HabitAccount
        let isPremium: Bool
        let counts: HabitReads.Counts
        /// Active habits that have a reminder.
        let reminders: Int
    }

    func overview(_ context: CallContext) async throws -> Overview {
        let user = try context.requireUser()
        let now = habits.work.now()
        let rows = try await habits.database.query(together: HabitReads.overview(of: user, at: now))
        return Overview(
            account: try await HabitAccountRepository.find(user, at: now, habits.database),
            isPremium: try rows[0].first?.decode(as: Bool.self) ?? false,
            counts: try HabitReads.counts(rows[1]),
            reminders: try rows[2].first?.decode(as: Int.self) ?? 0
        )
    }

    /// The caller's categories and how many of their own they have.
    ///
    /// A user who has changed nothing yet has no account, and the five of the start get their ids with it: it is made now (HA-19).
    func categories(_ context: CallContext) async throws -> (records: [HabitCategoryRecord], use: PlanUse) {
        let user = try context.requireUser()
        let isPremium = try await EntitlementReplica().isPremium(user, now: habits.work.now(), habits.database)
        var records = try await HabitAccountRepository.categories(of: user, habits.database)
        if records.isEmpty { records = try await begin(user, context) }
        let own = records.count(where: \.isCustom)
        return (records, PlanUse(own, of: HabitLimits.of(isPremium: isPremium).ownCategories, isPremium: isPremium))
    }

    private func begin(_ user: UserID, _ context: CallContext) async throws -> [HabitCategoryRecord] {
        let account = try await HabitAccountRepository.find(user, at: habits.work.now(), habits.database)
        // All were deleted.
        guard account.sequence == 0 else { return [] }
        return try await habits.knowing(user, context) {
            try await habits.work.run(context) { work in
                let book = try await habits.open(user, work)
                return try await HabitAccountRepository.categories(of: book.user, work.sql)
            }
        }
    }
}
