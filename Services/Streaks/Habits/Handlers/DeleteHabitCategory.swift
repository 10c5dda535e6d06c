internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore

/// Deletes a category; its habits have none from now on.
struct DeleteHabitCategory: MutationHandler {
    let changes: HabitChanges

    func handle(_ request: DeleteHabitCategoryRequest, _ context: CallContext) async throws -> Once<DeleteHabitCategoryReply> {
        try await changes.once(context, request) { book in
            try await book.categories.delete(request.categoryID)
            return DeleteHabitCategoryReply(categoryID: request.categoryID)
        }
    }
}
