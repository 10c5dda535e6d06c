internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Changes the fields of a category that are sent.
struct UpdateHabitCategory: MutationHandler {
    let changes: HabitChanges

    func handle(_ request: UpdateHabitCategoryRequest, _ context: CallContext) async throws -> Once<HabitCategory> {
        try await changes.once(context, request) { book in
            let all = try await HabitAccountRepository.categories(of: book.user, book.work.sql)
            guard let record = all.first(where: { $0.id == request.categoryID }) else { throw ServiceError.categoryNotFound }
            let form = try CategoryForm(
                name: request.name,
                color: request.color,
                icon: request.icon,
                present: record.details,
                isPremium: book.isPremium
            )
            try await book.categories.update(record.id, form.details)
            return try await book.shown(record.id)
        }
    }

    func problems(of request: UpdateHabitCategoryRequest) -> [ServiceError.Detail] {
        CategoryForm.problems(name: request.name, color: request.color, icon: request.icon, isNew: false)
    }
}
