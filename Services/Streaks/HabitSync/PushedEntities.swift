internal import Kernel
internal import StreaksCore
internal import StreaksDomain

/// The completions that a push is about.
struct PushedCompletions {
    /// Where they are, those that this push creates too.
    var places: [CompletionID: HabitRepository.CompletionPlace] = [:]
    /// What they are called here, by the ids they came with.
    var names: [CompletionID: CompletionID] = [:]
    /// Those that were deleted.
    var gone: Set<CompletionID> = []

    func isGone(_ name: CompletionID) -> Bool { gone.contains(names[name] ?? name) }

    /// - Throws: `GONE`, `COMPLETION_NOT_FOUND`.
    func find(_ name: CompletionID) throws -> (id: CompletionID, place: HabitRepository.CompletionPlace) {
        let id = names[name] ?? name
        guard !gone.contains(id) else { throw ServiceError.gone }
        guard let place = places[id] ?? places[name] else { throw ServiceError.completionNotFound }
        return (id, place)
    }

    /// What was written.
    mutating func follow(_ walk: EditWalk) {
        gone.formUnion(walk.deleted)
        for id in walk.refused { places[id] = nil }
        for (name, id) in walk.names {
            names[name] = id
            places[id] = places[id] ?? places[name]
        }
    }
}

/// The habits that a push is about.
struct PushedHabits {
    private var known: [HabitID: HabitBook.Locked] = [:]
    /// Those whose locked state is not the present one.
    private var stale: Set<HabitID> = []
    private var present: Set<HabitID> = []
    /// Those that were deleted.
    var gone: Set<HabitID> = []
    /// The names of all habits; nil until one is asked for.
    private var names: [HabitID: String]?

    mutating func lock(_ ids: [HabitID], _ book: HabitBook) async throws {
        for (id, habit) in try await book.lock(ids, includesDeleted: true) {
            known[id] = habit
            stale.remove(id)
            if habit.record.isDeleted { gone.insert(id) } else { present.insert(id) }
        }
    }

    /// Locks those anew that have changed since.
    mutating func refresh(_ ids: [HabitID], _ book: HabitBook) async throws {
        let wanted = ids.filter { stale.contains($0) || known[$0] == nil }
        if !wanted.isEmpty { try await lock(wanted, book) }
    }

    mutating func changed(_ id: HabitID) { stale.insert(id) }
    mutating func detailsChanged() { stale.formUnion(known.keys) }

    func isGone(_ id: HabitID) -> Bool { gone.contains(id) && !present.contains(id) }

    /// Whether it was deleted and can come back.
    func isRestorable(_ id: HabitID) -> Bool { isGone(id) && known[id] != nil }

    /// - Throws: `GONE`, `HABIT_NOT_FOUND`.
    func require(_ id: HabitID) throws {
        guard !present.contains(id) else { return }
        throw gone.contains(id) ? ServiceError.gone : ServiceError.habitNotFound
    }

    /// - Throws: `HABIT_NOT_FOUND`.
    func locked(_ id: HabitID) throws -> HabitBook.Locked {
        guard let habit = known[id] else { throw ServiceError.habitNotFound }
        return habit
    }

    /// The present state of a habit that is not deleted.
    private mutating func find(_ id: HabitID, _ book: HabitBook) async throws -> HabitBook.Locked {
        try require(id)
        try await refresh([id], book)
        return try locked(id)
    }

    /// - Returns: the answer.
    mutating func apply(_ change: DeviceChange, _ book: HabitBook, _ categories: PushedCategories) async throws -> SyncAnswer {
        switch change {
        case .createHabit(let id, let fields): try await create(id, fields, book, categories)
        case .updateHabit(let id, let fields): try await update(id, fields, book, categories)
        case .deleteHabit(let id):
            guard !isGone(id) else { return .applied }
            try await book.delete(try await find(id, book))
            present.remove(id)
            gone.insert(id)
            names?[id] = nil
            changed(id)
        case .undeleteHabit(let id): try await undelete(id, book)
        case .archiveHabit(let id):
            try await book.archive(try await find(id, book))
            changed(id)
        case .unarchiveHabit(let id):
            try await book.unarchive(try await find(id, book))
            changed(id)
        case .pause(let id, let from, let until):
            let from = max(from, book.date.today)
            guard until > from else { throw ServiceError.validation(field: "until", "must be after today and after from") }
            try await book.pause(try await find(id, book), from: from, until: until)
            changed(id)
        case .resume(let id):
            try await book.resume(try await find(id, book))
            changed(id)
        case .orderHabits(let ids): try await book.reorder(ids)
        default: throw ServiceError.internal
        }
        return .applied
    }

    private mutating func create(_ id: HabitID, _ fields: HabitFields, _ book: HabitBook, _ categories: PushedCategories)
        async throws
    {
        guard !present.contains(id) else {
            throw ServiceError(.alreadyExists, "HABIT_ID_TAKEN", "You have a habit of this id already.")
        }
        guard !gone.contains(id) else { throw ServiceError.gone }
        var details = try fields.details(after: nil)
        details.category = categories.found(details.category)
        details.name = try await free(details.name, except: id, book)
        let target = fields.target.applied(to: nil)
        let new = HabitBook.NewHabit(details, schedule: fields.schedule ?? .daily, target: target, id: id)
        try await book.create(new, archivesExcess: true)
        names?[id] = details.name
        present.insert(id)
        changed(id)
    }

    private mutating func update(_ id: HabitID, _ fields: HabitFields, _ book: HabitBook, _ categories: PushedCategories)
        async throws
    {
        let habit = try await find(id, book)
        guard let newest = habit.record.versions.last else { throw ServiceError.internal }
        var details = try fields.details(after: habit.record.details)
        if fields.category != nil { details.category = categories.found(details.category) }
        if fields.name != nil { details.name = try await free(details.name, except: id, book) }
        let schedule = fields.schedule ?? newest.schedule
        let target = fields.target.applied(to: newest.target)
        try await book.update(habit, details, schedule: schedule, target: target)
        names?[id] = details.name
        if schedule.isSame(as: newest.schedule), target == newest.target {
            known[id] = habit.with(details)
        } else {
            changed(id)
        }
    }

    private mutating func undelete(_ id: HabitID, _ book: HabitBook) async throws {
        guard !present.contains(id) else { return }
        try await refresh([id], book)
        guard let habit = known[id] else { throw gone.contains(id) ? ServiceError.gone : ServiceError.habitNotFound }
        let name = try await free(habit.record.details.name, except: id, book)
        let isSame = name == habit.record.details.name
        try await book.undelete(habit, name: isSame ? nil : name, archivesExcess: true)
        names?[id] = name
        present.insert(id)
        gone.remove(id)
        changed(id)
    }

    /// The name, or one with a number behind it when another habit has it (HA-13).
    private mutating func free(_ name: String, except id: HabitID, _ book: HabitBook) async throws -> String {
        let all: [HabitID: String]
        if let names { all = names } else { all = try await HabitRepository.names(of: book.user, book.work.sql) }
        names = all
        return HabitText.free(name, most: 50, taken: Set(all.filter { $0.key != id }.values.map(HabitText.key)))
    }
}

/// The categories that a push is about.
struct PushedCategories {
    /// All of the user, when the push is about any.
    var records: [HabitCategoryRecord] = []
    /// What they are called here, by the ids they came with.
    var names: [HabitCategoryID: HabitCategoryID] = [:]
    /// Those that were deleted.
    var gone: Set<HabitCategoryID> = []

    /// The category as it is called here; nil for one that is not there: a habit is not refused for it.
    func found(_ name: HabitCategoryID?) -> HabitCategoryID? {
        guard let name else { return nil }
        let id = names[name] ?? name
        return records.contains { $0.id == id } ? id : nil
    }

    private func find(_ name: HabitCategoryID) throws -> HabitCategoryRecord {
        let id = names[name] ?? name
        if let record = records.first(where: { $0.id == id }) { return record }
        throw gone.contains(id) ? ServiceError.gone : ServiceError.categoryNotFound
    }

    /// - Returns: the answer.
    mutating func apply(_ change: DeviceChange, _ book: HabitBook, _ habits: inout PushedHabits) async throws -> SyncAnswer {
        switch change {
        case .createCategory(let id, let fields):
            if let answer = try await create(id, fields, book) { return answer }
        case .updateCategory(let name, let fields):
            let old = try find(name)
            var details = try fields.details(after: old.details)
            if fields.name != nil { details.name = free(details.name, except: old.id) }
            try checkPlan(details, old.details, book)
            try await book.categories.update(old.id, details)
        case .deleteCategory(let name):
            guard !gone.contains(names[name] ?? name) else { return .applied }
            let id = try find(name).id
            try await book.categories.delete(id)
            gone.insert(id)
            // Habits have lost it.
            habits.detailsChanged()
        case .orderCategories(let ids):
            // Two names may be of one category.
            var known: Set<HabitCategoryID> = []
            try await book.categories.reorder(ids.map { names[$0] ?? $0 }.filter { known.insert($0).inserted })
        default: throw ServiceError.internal
        }
        records = try await HabitAccountRepository.categories(of: book.user, book.work.sql)
        return .applied
    }

    /// - Returns: the answer when it is one of the start, which every device makes for itself (HA-19).
    private mutating func create(_ id: HabitCategoryID, _ fields: CategoryFields, _ book: HabitBook) async throws -> SyncAnswer? {
        guard !gone.contains(id) else { throw ServiceError.gone }
        guard names[id] == nil, !records.contains(where: { $0.id == id }) else {
            throw ServiceError(.alreadyExists, "CATEGORY_ID_TAKEN", "You have a category of this id already.")
        }
        var details = try fields.details(after: nil)
        let key = HabitText.key(details.name)
        if let same = records.first(where: { !$0.isCustom && HabitText.key($0.details.name) == key }) {
            names[id] = same.id
            try await book.categories.update(same.id, try fields.details(after: same.details))
            records = try await HabitAccountRepository.categories(of: book.user, book.work.sql)
            let tag = SyncTag.Entity.self
            return .merged(.category, id.cast(to: tag), into: same.id.cast(to: tag))
        }
        details.name = free(details.name, except: nil)
        try await book.categories.add(details, id: id, ignoresLimit: true)
        return nil
    }

    /// Colors and icons beside the palette are for premium users (HA-17).
    private func checkPlan(_ new: HabitCategoryDetails, _ old: HabitCategoryDetails, _ book: HabitBook) throws {
        let isSame = new.color == old.color && new.icon == old.icon
        let isCommon = HabitPalette.colors.contains(new.color) && HabitPalette.icons.contains(new.icon)
        guard isSame || isCommon || book.isPremium else { throw ServiceError.premiumHabits("A color or icon of your own") }
    }

    private func free(_ name: String, except id: HabitCategoryID?) -> String {
        HabitText.free(name, most: 30, taken: Set(records.filter { $0.id != id }.map { HabitText.key($0.details.name) }))
    }
}
