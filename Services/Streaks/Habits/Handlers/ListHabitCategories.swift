internal import Bus
internal import Database
internal import Kernel
internal import Replicas
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// The caller's categories.
struct ListHabitCategories: QueryHandler {
    let accounts: HabitAccounts

    func handle(_: ListHabitCategoriesRequest, _ context: CallContext) async throws -> ListHabitCategoriesReply {
        let shown = try await accounts.categories(context)
        return ListHabitCategoriesReply(categories: shown.records.map { HabitCategory($0) }, ownCategories: shown.use)
    }
}
