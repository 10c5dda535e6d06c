import Kernel
import StreaksAPI
import Testing

/// A phone with the app, written from the comments of `habit_sync.proto` alone: a copy of what the server has sent, and a queue of its own
/// changes that were not answered.
struct SyncDevice {
    let id: String
    var epoch: Int32 = 0
    var cursor = ""
    var queue: [SyncChange] = []

    // MARK: the copy

    var habits: [HabitID: SyncHabit] = [:]
    var categories: [HabitCategoryID: SyncCategory] = [:]
    var completions: [CompletionID: SyncCompletion] = [:]
    var skips: Set<String> = []
    var notes: [CalendarDate: SyncDayNote] = [:]
    var settings: SyncSettings?
    var streaks: [SyncStreak] = []
    /// Every answer that came.
    var results: [SyncResult] = []

    init(_ number: UInt64) { id = "\(HabitID(high: 0xD0, low: number))" }

    /// What the network does to a call.
    enum Fault {
        case none, requestLost, replyLost
    }

    /// Sends what one request takes of the queue, and pulls; all pages.
    ///
    /// - Parameters:
    ///   - batch: changes a request.
    ///   - limit: entries a page.
    ///   - fault: of the last call.
    ///   - calls: after these the connection is lost.
    ///   - call: the server.
    /// - Returns: whether the server is in step with the device: nothing was lost.
    @discardableResult
    mutating func sync(
        batch: Int = 1_000,
        limit: Int32 = 0,
        fault: Fault = .none,
        calls: Int = .max,
        _ call: (SyncRequest) async throws -> SyncReply
    ) async throws -> Bool {
        var left = calls
        while true {
            left -= 1
            if left <= 0, fault == .requestLost { return false }
            var request = request(limit)
            request.changes = Array(queue.prefix(batch))
            request.hasMoreChanges = queue.count > batch
            let reply: SyncReply
            do { reply = try await call(request) } catch let error as ServiceError where error.reason == "RESYNC_REQUIRED" {
                try await pullEverything(limit, call)
                continue
            }
            if left <= 0, fault == .replyLost { return false }
            take(reply, request.changes)
            if left <= 0 { return queue.isEmpty && !reply.hasMore }
            if queue.isEmpty, !reply.hasMore { return true }
        }
    }

    private func request(_ limit: Int32) -> SyncRequest {
        SyncRequest(deviceID: id, schemaVersion: 1, epoch: epoch, cursor: cursor, limit: limit)
    }

    /// A restore or clearing has replaced everything: the copy begins anew, the queue stays.
    private mutating func pullEverything(_ limit: Int32, _ call: (SyncRequest) async throws -> SyncReply) async throws {
        (epoch, cursor) = (0, "")
        forget()
        var hasMore = true
        while hasMore {
            var request = request(limit)
            request.hasMoreChanges = true
            let reply = try await call(request)
            take(reply, [])
            hasMore = reply.hasMore
        }
    }

    private mutating func forget() {
        (habits, categories, completions, skips, notes) = ([:], [:], [:], [], [:])
        (settings, streaks) = (nil, [])
    }

    /// Takes a reply to a request with these changes.
    mutating func take(_ reply: SyncReply, _ sent: [SyncChange]) {
        results += reply.results
        let answered = Set(reply.results.map(\.changeID))
        queue.removeAll { answered.contains($0.changeID) }
        for (change, result) in zip(sent, reply.results) {
            if result.outcome == .merged, let other = result.mergedInto { rename(change.entityID, other) }
        }
        if reply.reset { forget() }
        for habit in reply.habits { habits[habit.id] = habit }
        for category in reply.categories { categories[category.id] = category }
        for completion in reply.completions { completions[completion.id] = completion }
        for skip in reply.skips { skips.insert("\(skip.habitID) \(skip.date)") }
        for note in reply.dayNotes { notes[note.date] = note }
        settings = reply.settings ?? settings
        for gone in reply.deleted { delete(gone) }
        if !reply.hasMore { streaks = reply.streaks }
        (epoch, cursor) = (reply.epoch, reply.nextCursor)
    }

    private mutating func rename(_ id: String, _ other: String) {
        for index in queue.indices {
            if queue[index].entityID == id { queue[index].entityID = other }
            if queue[index].habit?.categoryID == id { queue[index].habit?.categoryID = other }
            queue[index].ids = queue[index].ids.map { $0 == id ? other : $0 }
        }
    }

    private mutating func delete(_ gone: SyncDeletion) {
        let id = gone.entityID ?? ""
        switch gone.entity {
        case "habit":
            guard let habit = HabitID(id) else { break }
            habits[habit] = nil
            completions = completions.filter { $0.value.habitID != habit }
            skips = skips.filter { !$0.hasPrefix("\(habit) ") }
        case "category": if let id = HabitCategoryID(id) { categories[id] = nil }
        case "completion": if let id = CompletionID(id) { completions[id] = nil }
        case "skip": if let habit = gone.habitID, let date = gone.date { skips.remove("\(habit) \(date)") }
        case "day_note": if let date = gone.date { notes[date] = nil }
        default: Issue.record("unknown entity \(gone.entity)")
        }
    }

    // MARK: what it shows

    /// The copy as lines of text, which are the same for the same data.
    var lines: [String] {
        var lines = habits.values.map { habit in
            let version = habit.versions.last
            return [
                "habit \(habit.id) \(habit.name)", habit.description, habit.color, habit.icon,
                habit.categoryID.map { "\($0)" } ?? "-", habit.unit, habit.reminderTime ?? "-", "\(habit.reminderDays)",
                habit.archived ? "archived" : "active", habit.pauses.map { "\($0.from)…\($0.until)" }.joined(separator: " "),
                version?.schedule?.type ?? "", version?.targetValue.map { "\($0)" } ?? "-",
            ].joined(separator: "|")
        }
        lines += categories.values.map { "category \($0.id) \($0.name)|\($0.color)|\($0.icon)|\($0.isCustom)" }
        lines += completions.values.map { completion in
            let value = completion.value.map { "\($0)" } ?? "-"
            return
                "completion \(completion.id) \(completion.habitID) \(completion.date) \(value)|\(completion.note)|\(completion.mood ?? "-")"
        }
        lines += skips.map { "skip \($0)" }
        lines += notes.values.map { "note \($0.date) \($0.note)" }
        if let settings {
            lines.append(
                "settings \(settings.firstDayOfWeek) \(settings.theme) \(settings.haptics) \(settings.dailyReminderTime ?? "-")"
            )
        }
        let order = habits.values.sorted { ($0.position, $0.id) < ($1.position, $1.id) }.map { "\($0.id)" }
        let groups = categories.values.sorted { ($0.position, $0.id) < ($1.position, $1.id) }.map { "\($0.id)" }
        return lines.sorted() + ["order " + order.joined(separator: ","), "groups " + groups.joined(separator: ",")]
    }

    /// The same with everything that the server alone knows.
    var wholeLines: [String] {
        lines + habits.values.map { "\($0.id) \($0.sequence) \($0.versions) \($0.pauses)" }.sorted()
            + streaks.map { "\($0.habitID) \($0.count) \($0.longest) \($0.counts)" }.sorted()
    }
}

extension SyncChange {
    /// A change with an id of its own.
    init(_ number: UInt64, _ entity: String, _ operation: String, id: String = "") {
        self.init()
        changeID = "\(HabitID(high: 0xC0, low: number))"
        (self.entity, self.operation, entityID) = (entity, operation, id)
    }

    /// The same with more fields.
    func with(_ change: (inout SyncChange) -> Void) -> SyncChange {
        var copy = self
        change(&copy)
        return copy
    }
}
