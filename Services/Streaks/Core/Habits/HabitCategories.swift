package import Kernel
internal import ServiceRuntime
package import StreaksDomain

/// The categories of a user, inside a change (`HabitBook.categories`).
package struct HabitCategories: Sendable {
    let book: HabitBook

    /// - Returns: its id.
    /// - Throws: `CATEGORY_ID_TAKEN`, `CATEGORY_NAME_TAKEN`; where nothing else is wrong `CATEGORY_LIMIT_REACHED`,
    ///   `QUOTA_EXCEEDED`.
    @discardableResult
    package func add(
        _ details: HabitCategoryDetails,
        id: HabitCategoryID? = nil,
        isCustom: Bool = true,
        ignoresLimit: Bool = false
    ) async throws -> HabitCategoryID {
        let id = id ?? book.work.ids.make()
        let known = try await HabitAccountRepository.categories(of: book.user, book.work.sql)
        guard !known.contains(where: { $0.id == id }) else {
            throw ServiceError(.alreadyExists, "CATEGORY_ID_TAKEN", "You have a category of this id already.")
        }
        try await check(details.name, except: nil)
        let own = known.count(where: \.isCustom)
        if isCustom, !ignoresLimit, own >= book.limits.ownCategories {
            throw ServiceError.categoryLimitReached(book.limits.ownCategories)
        }
        guard own < HabitLimits.premium.ownCategories else {
            throw ServiceError.categoryLimitReached(HabitLimits.premium.ownCategories)
        }
        // Of a deleted one its id is kept for devices. Those of the start come with an account that has none, or has just been cleared.
        if isCustom { try await book.store.quotas.require(in: .tombstones, of: book.user, isKept: false, book.work.sql) }
        try await HabitAccountRepository.insert(
            id,
            details,
            position: nil,
            isCustom: isCustom,
            book.stamp,
            book.work.sql
        )
        try HabitAccountRepository.unbury([(.category, "\(id)")], of: book.user, book.work.sql)
        book.news.add(.category(id), "changed")
        return id
    }

    /// - Throws: `CATEGORY_NOT_FOUND`, `CATEGORY_NAME_TAKEN`.
    package func update(_ id: HabitCategoryID, _ details: HabitCategoryDetails) async throws {
        try await find(id)
        try await check(details.name, except: id)
        try await HabitAccountRepository.update(id, details, book.stamp, book.work.sql)
        book.news.add(.category(id), "changed")
    }

    /// Deletes it; its habits have none from now on.
    ///
    /// - Throws: `CATEGORY_NOT_FOUND`.
    package func delete(_ id: HabitCategoryID) async throws {
        try await find(id)
        try HabitAccountRepository.deleteCategory(id, book.stamp, book.work.sql)
        try HabitAccountRepository.bury([(.category, "\(id)")], book.stamp, book.work.sql)
        book.news.add(.category(id), "deleted")
    }

    /// Those that are named come first, in this order.
    package func reorder(_ ids: [HabitCategoryID]) async throws {
        try await HabitAccountRepository.reorder(ids, book.stamp, book.work.sql)
        book.news.add(.categoryOrder)
    }

    private func find(_ id: HabitCategoryID) async throws {
        guard try await HabitAccountRepository.categoryExists(id, of: book.user, book.work.sql) else {
            throw ServiceError.categoryNotFound
        }
    }

    private func check(_ name: String, except id: HabitCategoryID?) async throws {
        guard try await !HabitAccountRepository.isCategoryNameTaken(name, of: book.user, except: id, book.work.sql) else {
            throw ServiceError.categoryNameTaken
        }
    }
}
