internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore

/// Sets the order of categories.
struct ReorderHabitCategories: MutationHandler {
    let changes: HabitChanges

    func handle(_ request: ReorderHabitCategoriesRequest, _ context: CallContext) async throws -> Once<ListHabitCategoriesReply> {
        let wanted = try Self.wanted(request)
        return try await changes.once(context, request) { book in
            let known = try await HabitAccountRepository.categories(of: book.user, book.work.sql)
            guard wanted.isSubset(of: known.map(\.id)) else { throw ServiceError.categoryNotFound }
            try await book.categories.reorder(request.categoryIDs)
            return try await book.shownCategories()
        }
    }

    func problems(of request: ReorderHabitCategoriesRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try Self.wanted(request) }
    }

    /// - Throws: `VALIDATION_ERROR` when one is named twice.
    private static func wanted(_ request: ReorderHabitCategoriesRequest) throws(ServiceError) -> Set<HabitCategoryID> {
        let wanted = Set(request.categoryIDs)
        guard wanted.count == request.categoryIDs.count else {
            throw .validation(field: "category_ids", "must name each category once")
        }
        return wanted
    }
}
