internal import Database
internal import Kernel
internal import Outbox
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// The changes of one request, applied in order inside one transaction (HA-7).
///
/// Each change has its answer; one that is refused has changed nothing. Completions and skips wait until something else is about their habit, or
/// until the end, and are then written for all habits at once (`WaitingEdits`); so are day notes and settings.
struct DevicePush {
    private var book: HabitBook
    /// The first date that takes completions and skips (HA-12).
    let earliest: CalendarDate
    private let sent: [SyncChange]

    private var answers: [Int: SyncAnswer] = [:]
    /// Answered before: in an earlier request, or by an earlier change of this one.
    private var repeats: Set<Int> = []
    /// Changes with the id of an earlier one of this request.
    private var doubles: [Int: Int] = [:]
    private var read: [(index: Int, change: DeviceChange)] = []

    var habits = PushedHabits()
    var completions = PushedCompletions()
    var categories = PushedCategories()
    private var waiting = WaitingEdits()
    /// For the completions of the whole request.
    private var room = HabitRoom.unlimited
    private var notes: [CalendarDate: String] = [:]
    private var settings: HabitSettings?
    private var noteTombstones: [CalendarDate: Int64] = [:]

    init(_ sent: [SyncChange], _ book: HabitBook, earliest: CalendarDate) {
        (self.sent, self.book, self.earliest) = (sent, book, earliest)
    }

    /// Applies all. - Returns: the answers, in the order of the changes.
    mutating func run() async throws -> [SyncResult] {
        try await load()
        for (index, change) in read {
            do {
                if let answer = try await apply(change, index) { answers[index] = answer }
            } catch let refusal as ServiceError where refusal.isAnswer { answers[index] = .refused(refusal) }
        }
        try await write(nil)
        try book.note(notes)
        if let settings { try await book.store(settings) }
        return try finish()
    }

    // MARK: before

    private mutating func load() async throws {
        let ids = sent.map { ChangeID($0.changeID) }
        let all = parse()
        let known = try await SyncRepository.known(
            of: book.user,
            ids.compactMap(\.self),
            completions: all.compactMap(\.change.completion),
            categories: all.flatMap(\.change.categories),
            book.work.sql
        )
        var first: [ChangeID: Int] = [:]
        for (index, id) in ids.enumerated() {
            guard let id else {
                if answers[index] == nil { answers[index] = .refused(.validation(field: "change_id", "must be a UUID")) }
                continue
            }
            if let earlier = first[id] {
                doubles[index] = earlier
            } else if let answer = known.answers[id] {
                answers[index] = answer
                repeats.insert(index)
            }
            first[id] = first[id] ?? index
        }
        read = all.filter { ChangeID(sent[$0.index].changeID) != nil && doubles[$0.index] == nil && !repeats.contains($0.index) }
        completions.names = known.completions
        categories.names = known.categories
        try await loadEntities()
    }

    /// Reads the changes; those that say nothing valid are answered.
    private mutating func parse() -> [(index: Int, change: DeviceChange)] {
        var all: [(index: Int, change: DeviceChange)] = []
        for (index, change) in sent.enumerated() {
            do {
                all.append((index, try DeviceChange(change, newest: book.account.sequence - 1)))
            } catch let refusal as ServiceError {
                answers[index] = .refused(DeviceChange.refusal(of: change, refusal))
            } catch {
                answers[index] = .refused(.internal)
            }
        }
        return all
    }

    private mutating func loadEntities() async throws {
        let changes = read.map(\.change)
        let sql = book.work.sql
        let wanted = changes.compactMap(\.completion).map { completions.names[$0] ?? $0 }
        completions.places = try await HabitRepository.completions(wanted, of: book.user, sql)
        room = try await room(for: changes)
        let named = changes.compactMap(\.habit) + completions.places.values.map(\.habit)
        try await habits.lock(Array(Set(named)), book)
        let dates = changes.compactMap { if case .note(_, let date, .some) = $0 { date } else { nil } }
        let tombstones = try await HabitAccountRepository.tombstones(
            of: book.user,
            Set(named).map { (.habit, "\($0)") } + Set(wanted).map { (.completion, "\($0)") }
                + Set(changes.flatMap(\.categories).map { categories.names[$0] ?? $0 }).map { (.category, "\($0)") }
                + Set(dates).map { (.dayNote, "\($0)") },
            sql
        )
        for (entity, key, sequence) in tombstones {
            switch entity {
            case .habit: if let id = HabitID(key) { habits.gone.insert(id) }
            case .completion: if let id = CompletionID(key) { completions.gone.insert(id) }
            case .category: if let id = HabitCategoryID(key) { categories.gone.insert(id) }
            case .dayNote: if let date = CalendarDate(key) { noteTombstones[date] = sequence }
            case .skip: break
            }
        }
        if changes.contains(where: { !$0.categories.isEmpty }) {
            categories.records = try await HabitAccountRepository.categories(of: book.user, sql)
        }
    }

    /// Completions that are deleted later in the request make room for those before them: in the end no more are stored.
    private func room(for changes: [DeviceChange]) async throws -> HabitRoom {
        var (added, deleted, stored) = (0, 0, Set<CompletionID>())
        for change in changes {
            switch change {
            case .createCompletion(let id, _, _, _): if completions.places[id] == nil { added += 1 }
            case .deleteCompletion(let name):
                deleted += 1
                let id = completions.names[name] ?? name
                if completions.places[id] != nil { stored.insert(id) }
            default: break
            }
        }
        return try await book.room(adding: added, deleting: deleted, of: stored)
    }

    // MARK: one change

    /// - Returns: the answer; nil when it waits.
    private mutating func apply(_ change: DeviceChange, _ index: Int) async throws -> SyncAnswer? {
        switch change {
        case .createCompletion(let id, let habit, let date, let fields):
            try habits.require(habit)
            // What became of the one that has this id is not known while it waits.
            if let place = completions.places[id] { try await write([place.habit]) }
            guard !completions.gone.contains(id) else { throw ServiceError.gone }
            guard completions.places[id] == nil, completions.names[id] == nil else { throw ServiceError.completionIDTaken }
            completions.places[id] = HabitRepository.CompletionPlace(habit: habit, date: date)
            waiting.add(
                .complete(id, date, fields.amount.applied(to: nil), fields.details(on: date, book.date)),
                index,
                of: habit
            )
        case .updateCompletion(let name, let fields):
            let (id, place) = try completions.find(name)
            try habits.require(place.habit)
            let patch = fields.patch(on: place.date, book.date)
            waiting.add(.update(id, place.date, fields.amount, patch), index, of: place.habit)
        case .deleteCompletion(let name):
            guard !completions.isGone(name) else { return .applied }
            let (id, place) = try completions.find(name)
            waiting.add(.delete(id, place.date), index, of: place.habit)
        case .skip(let habit, let date):
            try habits.require(habit)
            waiting.add(.skip(date), index, of: habit)
        case .unskip(let habit, let date):
            // A deleted habit may come back, without it.
            if !habits.isRestorable(habit) {
                guard !habits.isGone(habit) else { return .applied }
                try habits.require(habit)
            }
            waiting.add(.unskip(date), index, of: habit)
        case .note(let text, let date, let base): return try note(text, on: date, base: base)
        case .settings(let fields):
            try await set(try fields.applied(to: settings ?? book.account.settings))
            return .applied
        case .createCategory, .updateCategory, .deleteCategory, .orderCategories:
            return try await categories.apply(change, book, &habits)
        default:
            // What waits comes first.
            if let habit = change.habit { try await write([habit]) }
            return try await habits.apply(change, book, categories)
        }
        return nil
    }

    private mutating func set(_ new: HabitSettings) async throws {
        settings = new
        guard new.firstDayOfWeek != book.account.settings.firstDayOfWeek else { return }
        // It makes versions (HA-10), which depend on what is done before.
        try await write(nil)
        try await book.store(new)
        book = book.with(new)
        habits.detailsChanged()
    }

    private mutating func note(_ text: String, on date: CalendarDate, base: Int64?) throws -> SyncAnswer {
        let note = try book.checkedNote(text, on: date)
        if let base, let deleted = noteTombstones[date], deleted > base { throw ServiceError.gone }
        notes[date] = note
        noteTombstones[date] = note.isEmpty ? book.account.sequence : nil
        return .applied
    }

    /// Writes what waits, of some habits or of all.
    private mutating func write(_ only: Set<HabitID>?) async throws {
        let edits = waiting.take(only)
        guard !edits.isEmpty else { return }
        try await habits.refresh(edits.map(\.habit), book)
        let locked = try edits.map { (habit: try habits.locked($0.habit), edits: $0.edits(earliest: earliest)) }
        let outcomes = try await book.edit(locked, &room)
        var patches: [CompletionID: CompletionPatch] = [:]
        for (edits, outcome) in zip(edits, outcomes) {
            var walk = EditWalk(edits, outcome, completions)
            walk.run()
            answers.merge(walk.answers) { _, new in new }
            patches.merge(walk.patches) { _, new in new }
            completions.follow(walk)
            try book.bury(walk.deleted)
            habits.changed(edits.habit)
        }
        try book.describe(patches)
    }

    // MARK: after

    /// What is about something that had no room waits with it: a device sends both again, and they are judged anew. Otherwise what is made in the
    /// end would lack a note, or be there although it was deleted.
    private mutating func holdBackDependents() {
        var homeless: [String: SyncAnswer] = [:]
        for index in read.map(\.index) {
            guard let answer = answers[index], answer.outcome == .refused else { continue }
            let change = sent[index]
            let (own, habit) = (change.entityID.lowercased(), change.habitID.lowercased())
            if answer.isFinal, let other = homeless[own] ?? homeless[habit] { answers[index] = other }
            // A skip or a pause has no id of its own: nothing is about it.
            if answers[index]?.isFinal == false, !own.isEmpty { homeless[own] = answers[index] }
        }
    }

    private mutating func finish() throws -> [SyncResult] {
        holdBackDependents()
        let new = sent.indices.filter { doubles[$0] == nil && !repeats.contains($0) }
        try SyncRepository.store(
            new.compactMap { index in
                guard let id = ChangeID(sent[index].changeID), let answer = answers[index], answer.isFinal else { return nil }
                return (id, answer)
            },
            of: book.user,
            at: book.work.now,
            book.work.sql
        )
        return try sent.indices.map { index in
            guard let answer = answers[doubles[index] ?? index] else { throw ServiceError.internal }
            let isRepeated = doubles[index] != nil || repeats.contains(index)
            return answer.result(of: sent[index].changeID, isRepeated: isRepeated)
        }
    }
}

extension ServiceError {
    /// Whether it is what a change came to, and not a failure of the whole.
    fileprivate var isAnswer: Bool { ![.internal, .unavailable, .deadlineExceeded, .cancelled].contains(code) }
}
