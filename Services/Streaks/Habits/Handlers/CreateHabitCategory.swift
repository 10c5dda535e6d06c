internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Makes a category (HA-19).
struct CreateHabitCategory: MutationHandler {
    let changes: HabitChanges

    func handle(_ request: CreateHabitCategoryRequest, _ context: CallContext) async throws -> Once<HabitCategory> {
        try await changes.once(context, request) { book in
            let form = try CategoryForm(
                name: request.name,
                color: request.color,
                icon: request.icon,
                isPremium: book.isPremium
            )
            return try await book.shown(try await book.categories.add(form.details, id: request.id))
        }
    }

    func problems(of request: CreateHabitCategoryRequest) -> [ServiceError.Detail] {
        CategoryForm.problems(name: request.name, color: request.color, icon: request.icon, isNew: true)
    }
}
