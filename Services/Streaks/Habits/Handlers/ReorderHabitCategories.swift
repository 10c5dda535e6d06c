internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore

/// Sets the order of categories.
struct ReorderHabitCategories: MutationHandler {
    let changes: HabitChanges

    func handle(_ request: ReorderHabitCategoriesRequest, _ context: CallContext) async throws -> Once<ListHabitCategoriesReply> {
        let wanted = Set(request.categoryIDs)
        guard wanted.count == request.categoryIDs.count else {
            throw ServiceError.validation(field: "category_ids", "must name each category once")
        }
        return try await changes.once(context, request) { book in
            let known = try await HabitAccountRepository.categories(of: book.user, book.work.sql)
            guard wanted.isSubset(of: known.map(\.id)) else { throw ServiceError.categoryNotFound }
            try await book.categories.reorder(request.categoryIDs)
            return try await book.shownCategories()
        }
    }
}
