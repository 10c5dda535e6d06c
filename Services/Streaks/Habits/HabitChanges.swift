internal import Bus
internal import Database
internal import Kernel
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain
internal import Wire

/// Runs changes of the caller's habits, once for each idempotency key.
struct HabitChanges: Sendable {
    let habits: HabitStore
    let mutations: Mutations

    /// The transaction of one request: the caller's account is locked, and `body` changes their habits.
    func once<Request: Message, Reply: Message>(
        _ context: CallContext,
        _ request: Request,
        _ body: @escaping @Sendable (HabitBook) async throws -> Reply
    ) async throws -> Once<Reply> {
        let user = try context.requireUser()
        return try await habits.knowing(user, context) {
            try await mutations.once(context, request) { [habits] work in try await body(try await habits.open(user, work)) }
        }
    }

    /// The same for a change of one habit, which is locked too: everything it reads comes in one round trip.
    ///
    /// - Parameter body: gets the habit, or why there is none (`HABIT_NOT_FOUND`).
    func once<Request: Message, Reply: Message>(
        _ context: CallContext,
        _ request: Request,
        of habit: HabitID,
        _ body: @escaping @Sendable (HabitBook, Result<HabitBook.Locked, ServiceError>) async throws -> Reply
    ) async throws -> Once<Reply> {
        let user = try context.requireUser()
        return try await habits.knowing(user, context) {
            try await mutations.once(
                context,
                request,
                loading: { [habits] in try habits.enqueueOpen(user, habit: habit, holding: $1.lock, $0) },
                { [habits] work, queued in
                    let opened = try await habits.opened(queued, work)
                    return try await body(opened.book, opened.habit)
                }
            )
        }
    }

    /// The same for what is done of one date, whose reply shows what the whole day comes to: how the habits stand is read with the rest, and
    /// nothing has to be read again after it was written.
    func entry<Request: Message>(
        _ context: CallContext,
        _ request: Request,
        of habit: HabitID,
        _ body:
            @escaping @Sendable (HabitBook, Result<HabitBook.Locked, ServiceError>, HabitStandings) async throws ->
            HabitEntryReply
    ) async throws -> Once<HabitEntryReply> {
        let user = try context.requireUser()
        return try await habits.knowing(user, context) {
            try await mutations.once(
                context,
                request,
                isShared: true,
                loading: { [habits] work, key in
                    LoadedEntry(
                        habit: try habits.enqueueOpen(user, habit: habit, holding: key.lock, work),
                        standings: try work.sql.enqueue(HabitStandings.query(of: user, habit))
                    )
                },
                { [habits] work, loaded in
                    let opened = try await habits.opened(loaded.habit, work)
                    let standings = try HabitStandings(try await loaded.standings.rows(), of: habit)
                    return try await body(opened.book, opened.habit, standings)
                }
            )
        }
    }

    private struct LoadedEntry: Sendable {
        let habit: QueuedHabit
        let standings: QueuedStatement
    }
}

extension HabitBook {
    /// A habit as replies show it, after what was written.
    func shown(_ id: HabitID) async throws -> Habit {
        let records = try await HabitRepository.records(of: user, where: HabitReads.isHabit(id), work.sql)
        guard let record = records.first else { throw ServiceError.habitNotFound }
        return Habit(record, date)
    }

    /// A category as replies show it, after what was written.
    func shown(_ id: HabitCategoryID) async throws -> HabitCategory {
        let all = try await HabitAccountRepository.categories(of: user, work.sql)
        guard let record = all.first(where: { $0.id == id }) else { throw ServiceError.categoryNotFound }
        return HabitCategory(record)
    }

    /// All categories, in their order.
    func shownCategories() async throws -> ListHabitCategoriesReply {
        let all = try await HabitAccountRepository.categories(of: user, work.sql)
        return ListHabitCategoriesReply(
            categories: all.map { HabitCategory($0) },
            ownCategories: PlanUse(all.count(where: \.isCustom), of: limits.ownCategories, isPremium: isPremium)
        )
    }
}
