internal import Bus
internal import Database
internal import Kernel
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// The list of habits, grouped by category.
struct ListHabits: QueryHandler {
    let habits: HabitStore

    func handle(_ request: ListHabitsRequest, _ context: CallContext) async throws -> ListHabitsReply {
        let page = try Page<ListPosition>(request, context)
        let user = try context.requireUser()
        let state = try Self.state(request)
        let date = try await habits.refresh(user, context)
        let queries =
            [HabitReads.counts(of: user), HabitReads.lastDays(of: user, until: date.today)]
            + HabitRepository.queries(of: user, HabitReads.condition(state, request.categoryID))
        let rows = try await habits.database.query(together: queries)
        let categories = try await HabitAccountRepository.categories(of: user, habits.database)
        let key = HabitText.key(request.q)
        let found = try HabitRepository.assemble(Array(rows.suffix(3))).filter { record in
            key.isEmpty || HabitText.key(record.details.name).contains(key)
        }
        let list = HabitList(found, categories, showsEmpty: state == .active && key.isEmpty && request.categoryID.isEmpty)
        let left = list.entries.filter { entry in page.position.map { $0 < entry.position } ?? true }
        let (shown, meta) = page.entries(Array(left.prefix(page.limit + 1))) { $0.position }
        let lastDays = state == .active ? try HabitReads.lastDays(rows[1]) : nil
        let counts = try HabitReads.counts(rows[0])
        return ListHabitsReply(
            groups: list.groups(shown, isFirst: page.position == nil, isLast: meta.nextCursor == nil) { record in
                HabitItem(record, lastDays: lastDays?.squares(of: record.streak, until: date.today) ?? [], date)
            },
            activeCount: Int32(clamping: counts.active),
            archivedCount: Int32(clamping: counts.archived),
            meta: meta
        )
    }

    func problems(of request: ListHabitsRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try Self.state(request) } + request.placeProblems
    }

    /// - Throws: `VALIDATION_ERROR` naming `deleted`.
    private static func state(_ request: ListHabitsRequest) throws(ServiceError) -> HabitReads.State {
        guard !(request.archived && request.deleted) else {
            throw .validation(field: "deleted", "cannot be combined with archived")
        }
        return request.deleted ? .deleted : request.archived ? .archived : .active
    }
}
