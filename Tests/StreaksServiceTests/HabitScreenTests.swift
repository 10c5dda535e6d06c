import Kernel
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import StreaksCore
@testable import StreaksHabits

/// The screens of habits: Today, the list, detail, calendar, widget, choices, settings, profile (HA-5, HA-15 … HA-19).
struct HabitScreenTests {
    @Test func `today has its sections, its progress and its tiers`() async throws {
        try await withHabits { world in
            #expect(try await world.today().progress?.emptyReason == "no_habits")
            try await world.premium()
            let times: [String?] = ["07:30", "11:59", "12:00", "17:59", "18:00", "23:00", nil, nil]
            var ids: [HabitID] = []
            for (index, time) in times.enumerated() { ids.append(try await world.create("Habit \(index)", at: time).id) }
            let start = try await world.today()
            #expect(start.sections.map(\.name) == ["morning", "afternoon", "evening", "anytime"])
            #expect(start.sections.map { $0.habits.map(\.name) }.map(\.count) == [2, 2, 2, 2])
            #expect(start.progress?.total == 8 && start.progress?.done == 0 && start.progress?.text == "Keep going!")
            // The time of the first three reminders is over at noon.
            #expect(start.sections.flatMap(\.habits).filter(\.pastDue).map(\.name) == ["Habit 0", "Habit 1", "Habit 2"])
            var texts: [String] = []
            for id in ids { texts.append(try await world.complete(id).progress?.text ?? "") }
            let expected = ["Keep going!", "Halfway there!", "Almost done!"]
            #expect(texts == [0, 0, 0, 1, 1, 2, 2].map { expected[$0] } + ["Perfect!"])
            #expect(try await world.today().sections.flatMap(\.habits).allSatisfy { !$0.pastDue && $0.status == .done })
            world.clock.set(moment("2026-01-06T12:00:00Z"))
            let past = try await world.today("2026-01-05")
            #expect(past.progress?.dayComplete == true && past.today == day("2026-01-06") && past.date == day("2026-01-05"))
            #expect(try await world.today("2026-01-04").progress?.emptyReason == "no_habits", "none had begun")
            #expect(await world.reason { _ = try await world.today("2026-01-07") } == "DATE_IN_FUTURE")
        }
    }

    @Test func `today knows what is done elsewhere of the date, and the note`() async throws {
        try await withHabits { world in
            let reading = try await world.create("Read", target: 50)
            try await world.complete(reading.id, value: 20, note: "Chapter 1")
            try await world.complete(reading.id, value: 10)
            let note = SetDayNote(changes: world.changes)
            _ = try await note.handle(SetDayNoteRequest(note: " Slept well "), world.context)
            let today = try await world.today()
            #expect(today.dayNote == "Slept well" && today.averageStreak == 0)
            let card = try #require(today.sections[3].habits.first)
            #expect(card.value == 30 && card.status == .partial && card.completions == 2 && card.lastCompletion?.value == 10)
            _ = try await note.handle(SetDayNoteRequest(note: ""), world.context)
            #expect(try await world.today().dayNote == nil)
            let future = SetDayNoteRequest(date: day("2026-01-06"), note: "x")
            #expect(await world.reason { _ = try await note.handle(future, world.context) } == "DATE_IN_FUTURE")
            let long = SetDayNoteRequest(note: String(repeating: "x", count: 501))
            #expect(await world.fields { _ = try await note.handle(long, world.context) }.keys.contains("note"))
        }
    }

    @Test func `the average counts weeks as seven days`() async throws {
        try await withHabits { world in
            let (daily, weekly) = (try await world.create("A").id, try await world.create("B", .weekly(1)).id)
            for date in ["2026-01-03", "2026-01-04", "2026-01-05"] { try await world.complete(daily, on: date) }
            try await world.complete(weekly)
            #expect(try await world.today().averageStreak == 5)
            let profile = try await world.profile()
            #expect(profile.averageStreak == 5 && profile.bestCurrentStreak == 7 && profile.daysActive == 3)
            #expect(profile.totalHabits == 2 && profile.habits?.used == 2 && profile.habits?.limit == 5 && !profile.premium)
            #expect(
                profile.completionRate?.done == 4 && profile.completionRate?.percent == 100 && profile.completionRateDays == 7
            )
            try await world.premium()
            let more = try await world.profile()
            #expect(more.premium && more.habits?.limit == nil && more.completionRateDays == 30)
        }
    }

    @Test func `the list is grouped, searched and filtered`() async throws {
        try await withHabits { world in
            let categories = try await world.categories()
            #expect(categories.map(\.name) == ["Activity", "Health", "Work", "Learning", "Social"])
            let read = try await world.create("Read books", category: categories[3].id)
            let walk = try await world.create("Walk", .weekly(3), category: categories[0].id, at: "08:00")
            let plain = try await world.create("Reading club")
            try await world.complete(read.id)
            try await world.complete(read.id, on: "2026-01-03")
            let all = try await world.list()
            #expect(all.groups.map { $0.category?.name } == ["Activity", "Health", "Work", "Learning", "Social", nil])
            #expect(all.groups.map(\.count) == [1, 0, 0, 1, 0, 1] && all.activeCount == 3)
            let item = try #require(all.groups[3].habits.first)
            #expect(item.lastDays == [.none, .none, .none, .none, .done, .missed, .done] && item.currentStreak == 1)
            #expect(all.groups[0].habits[0].scheduleText == "3x per week" && all.groups[0].habits[0].reminderTime == "08:00")
            func ids(_ request: ListHabitsRequest) async throws -> [HabitID] {
                try await world.list(request).groups.flatMap(\.habits).map(\.id)
            }
            #expect(try await ids(ListHabitsRequest(q: "READ")) == [read.id, plain.id])
            #expect(try await ids(ListHabitsRequest(q: "%")) == [])
            #expect(try await ids(ListHabitsRequest(categoryID: [categories[0].id, categories[3].id])) == [walk.id, read.id])
            try await world.archive(walk.id)
            let archived = try await world.list(ListHabitsRequest(archived: true))
            #expect(archived.groups.flatMap(\.habits).map(\.id) == [walk.id] && archived.archivedCount == 1)
            #expect(archived.groups[0].habits[0].archivedAt == world.clock.now() && archived.groups[0].habits[0].lastDays.isEmpty)
            let both = ListHabitsRequest(archived: true, deleted: true)
            #expect(await world.fields { _ = try await world.list(both) }.keys.contains("deleted"))
        }
    }

    @Test func `pages of the list are the whole of it, groups going on where they were cut`() async throws {
        try await withHabits { world in
            try await world.premium()
            let categories = try await world.categories()
            for index in 0..<9 {
                try await world.create("Habit \(index)", category: index % 3 == 2 ? nil : categories[index % 3].id)
            }
            let whole = try await world.list().groups
            var (names, counts, cursor): ([String], [Int32], String) = ([], [], "")
            repeat {
                let page = try await world.list(ListHabitsRequest(limit: 2, cursor: cursor))
                names += page.groups.flatMap(\.habits).map(\.name)
                counts += page.groups.filter { !$0.habits.isEmpty }.map(\.count)
                cursor = page.meta?.nextCursor ?? ""
            } while !cursor.isEmpty
            #expect(names == whole.flatMap(\.habits).map(\.name) && names.count == 9)
            #expect(Set(counts) == [3])
        }
    }

    @Test func `a habit's detail has its day, month, best run, milestones and relations`() async throws {
        try await withHabits { world in
            let category = try await world.categories()[0].id
            let habit = try await world.create("Run", target: 5, category: category).id
            let related = try await world.create("Walk", category: category).id
            try await world.create("Read")
            for number in -6 ... -1 {
                try await world.complete(habit, on: "\(day("2026-01-05").advanced(by: number))", value: 6)
            }
            try await world.complete(habit, value: 2, note: "rain", mood: "bad")
            let detail = try await world.detail(habit)
            #expect(
                detail.today?.status == .partial && detail.today?.value == 2 && detail.completionsToday.map(\.note) == ["rain"]
            )
            #expect(detail.habit?.currentStreak == 6 && detail.category?.id == category && detail.related.map(\.id) == [related])
            #expect(detail.daysDone == 6 && detail.totalCompletions == 7 && detail.totalValue == 38)
            #expect(detail.bestRun?.from == day("2025-12-30") && detail.bestRun?.running == true)
            #expect(detail.milestones?.next == 7 && detail.milestones?.left == 1 && detail.milestones?.reached == [])
            #expect(detail.month?.days.count == 31 && detail.month?.days[0].status == .done)
            #expect(detail.month?.days[4].lastCompletion?.mood == "bad" && detail.month?.days[5].status == HabitSquare.none)
            // The fifth is open and not done: it counts neither way.
            #expect(detail.month?.rate?.done == 4 && detail.month?.rate?.due == 4)
            try await world.complete(habit)
            let reached = try await world.detail(habit).milestones?.reached
            #expect(reached?.map(\.count) == [7] && reached?.first?.date == day("2026-01-05"))
            #expect(try await world.month(habit, "2025-12").days.filter { $0.status == .done }.count == 2)
            #expect(try await world.month(habit, "2030-12").days.allSatisfy { $0.status == HabitSquare.none })
            #expect(await world.reason { _ = try await world.month(HabitID(high: 1, low: 77)) } == "HABIT_NOT_FOUND")
        }
    }

    @Test func `completions and notes come in pages, the newest date first`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Read", target: 100).id
            for number in 0..<5 {
                let date = "\(day("2026-01-05").advanced(by: -number))"
                for part in 0..<2 { try await world.complete(habit, on: date, value: 1, note: part == 0 ? "note \(number)" : "") }
            }
            let list = ListCompletions(habits: world.habits)
            var (dates, cursor): ([CalendarDate], String) = ([], "")
            repeat {
                let page = try await list.handle(ListCompletionsRequest(habitID: habit, limit: 3, cursor: cursor), world.context)
                dates += page.completions.compactMap { $0.completion?.date }
                #expect(page.completions.allSatisfy { $0.status == .partial })
                cursor = page.meta?.nextCursor ?? ""
            } while !cursor.isEmpty
            #expect(dates.count == 10 && dates == dates.sorted(by: >))
            let notes = try await ListHabitNotes(habits: world.habits)
                .handle(ListHabitNotesRequest(habitID: habit, limit: 4), world.context)
            #expect(notes.notes.map(\.note) == ["note 0", "note 1", "note 2", "note 3"] && notes.meta?.nextCursor != nil)
            let foreign = ListCompletionsRequest(habitID: HabitID(high: 1, low: 77))
            #expect(await world.reason { _ = try await list.handle(foreign, world.context) } == "HABIT_NOT_FOUND")
        }
    }

    @Test func `the widget is for premium users, and has the day, four of it and the week`() async throws {
        try await withHabits(at: "2026-01-07T12:00:00Z") { world in
            let widget = GetHabitWidget(reader: world.reader)
            func read(_ categories: [HabitCategoryID] = []) async throws -> GetHabitWidgetReply {
                try await widget.handle(GetHabitWidgetRequest(categoryID: categories), world.context)
            }
            #expect(await world.reason { _ = try await read() } == "PREMIUM_REQUIRED")
            try await world.premium()
            let category = try await world.categories()[0].id
            var ids: [HabitID] = []
            for index in 0..<6 { ids.append(try await world.create("Habit \(index)", category: index < 2 ? category : nil).id) }
            try await world.complete(ids[0])
            for id in ids.prefix(3) { try await world.complete(id, on: "2026-01-06") }
            let all = try await read()
            #expect(all.progress?.done == 1 && all.progress?.total == 6 && all.habits.count == 6)
            #expect(all.list.map(\.name) == ["Habit 1", "Habit 2", "Habit 3", "Habit 4"], "what is open comes first")
            #expect(all.week.map(\.date) == Array(day("2026-01-05")...day("2026-01-11")))
            #expect(all.week.map(\.done) == [0, 3, 1, 0, 0, 0, 0] && all.week.map(\.total) == [0, 3, 6, 0, 0, 0, 0])
            #expect(try await read([category]).habits.map(\.habitID) == Array(ids.prefix(2)))
        }
    }

    @Test func `the form has categories, colors, icons and what the plan has room for`() async throws {
        try await withHabits { world in
            let choices = GetHabitChoices(accounts: world.accounts)
            let first = try await choices.handle(GetHabitChoicesRequest(), world.context)
            #expect(first.categories.count == 5 && first.colors.count == 16 && first.icons.count == 40)
            #expect(first.habits?.limit == 5 && first.ownCategories?.limit == 3 && first.reminders?.limit == 3)
            #expect(!first.customAppearance && first.reminderTime == nil)
            try await world.settings(UpdateHabitSettingsRequest(dailyReminderTime: "08:15"))
            try await world.create("Read", at: "09:00")
            let second = try await choices.handle(GetHabitChoicesRequest(), world.context)
            #expect(second.reminderTime == "08:15" && second.habits?.used == 1 && second.reminders?.used == 1)
            #expect(second.categories == first.categories, "the five of the start were made once")
        }
    }

    @Test func `settings are stored for the person, and only what is sent changes`() async throws {
        try await withHabits { world in
            let get = GetHabitSettings(habits: world.habits)
            let first = try await get.handle(GetHabitSettingsRequest(), world.context)
            #expect(
                first.theme == "auto" && first.firstDayOfWeek == 1 && first.accentColor == "#6366F1" && !first.onboardingCompleted
            )
            let request = UpdateHabitSettingsRequest(
                theme: "dark",
                accentColor: "#10b981",
                hapticFeedbackEnabled: false,
                onboardingCompleted: true,
                dailyReminderTime: "07:00"
            )
            let changed = try await world.settings(request)
            #expect(try await get.handle(GetHabitSettingsRequest(), world.context) == changed)
            #expect(changed.theme == "dark" && changed.accentColor == "#10B981" && !changed.hapticFeedbackEnabled)
            #expect(changed.animationsEnabled && changed.onboardingCompleted && changed.dailyReminderTime == "07:00")
            let cleared = try await world.settings(UpdateHabitSettingsRequest(clear: ["daily_reminder_time"]))
            #expect(cleared.dailyReminderTime == nil && cleared.theme == "dark")
            let own = UpdateHabitSettingsRequest(accentColor: "#010203")
            #expect(await world.reason { try await world.settings(own) } == "PREMIUM_REQUIRED")
            let bad = UpdateHabitSettingsRequest(dailyReminderTime: "25:00")
            #expect(await world.fields { try await world.settings(bad) }.keys.contains("daily_reminder_time"))
        }
    }

    @Test func `categories are made, changed, ordered and deleted within the plan's limit`() async throws {
        try await withHabits { world in
            let create = CreateHabitCategory(changes: world.changes)
            func make(_ name: String, _ color: String? = nil) async throws -> HabitCategory {
                try await create.handle(CreateHabitCategoryRequest(name: name, color: color), world.context).reply
            }
            #expect(await world.reason { _ = try await make("health") } == "CATEGORY_NAME_TAKEN")
            #expect(await world.reason { _ = try await make("Own", "#010203") } == "PREMIUM_REQUIRED")
            #expect(await world.fields { _ = try await make(String(repeating: "x", count: 31)) }.keys.contains("name"))
            let music = try await make("Music")
            #expect(music.isCustom && music.order == 6)
            for name in ["B", "C"] { _ = try await make(name) }
            #expect(await world.reason { _ = try await make("D") } == "CATEGORY_LIMIT_REACHED")
            let habit = try await world.create("Piano", category: music.id)
            let update = UpdateHabitCategoryRequest(categoryID: music.id, name: "Sound")
            let renamed = try await UpdateHabitCategory(changes: world.changes).handle(update, world.context).reply
            #expect(renamed.name == "Sound" && renamed.color == music.color)
            let order = ReorderHabitCategoriesRequest(categoryIDs: [music.id])
            let ordered = try await ReorderHabitCategories(changes: world.changes).handle(order, world.context).reply
            #expect(ordered.categories.first?.id == music.id && ordered.ownCategories?.used == 3)
            let delete = DeleteHabitCategoryRequest(categoryID: music.id)
            _ = try await DeleteHabitCategory(changes: world.changes).handle(delete, world.context)
            #expect(try await world.detail(habit.id).habit?.categoryID == nil)
            let again = await world.reason {
                _ = try await DeleteHabitCategory(changes: world.changes).handle(delete, world.context)
            }
            #expect(again == "CATEGORY_NOT_FOUND")
            #expect(await world.fields { try await world.create("X", category: music.id) }.keys.contains("category_id"))
        }
    }

    @Test func `everything is deleted in two steps, and the settings stay`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Read")
            try await world.complete(habit.id)
            try await world.settings(UpdateHabitSettingsRequest(theme: "dark"))
            let clear = ClearHabitData(changes: world.changes)
            func ask(_ token: String = "") async throws -> ClearHabitDataReply {
                try await clear.handle(ClearHabitDataRequest(token: token), world.context).reply
            }
            let first = try await ask()
            let token = try #require(first.token)
            #expect(!first.deleted && first.habits == 1 && first.completions == 1)
            #expect(first.tokenExpiresAt == world.clock.now() + .minutes(10))
            #expect(try await world.list().activeCount == 1)
            for wrong in ["x", "00000000-0000-7000-8000-000000000000"] {
                #expect(await world.reason { _ = try await ask(wrong) } == "CONFIRMATION_NOT_VALID")
            }
            world.clock.advance(by: .minutes(10))
            #expect(await world.reason { _ = try await ask(token) } == "CONFIRMATION_NOT_VALID")
            let second = try await ask()
            #expect(try await ask(try #require(second.token)).deleted)
            #expect(await world.reason { _ = try await ask(try #require(second.token)) } == "CONFIRMATION_NOT_VALID")
            #expect(try await world.list().activeCount == 0)
            #expect(try await world.categories().map(\.name) == HabitCategoryDetails.defaults.map(\.name))
            let settings = try await GetHabitSettings(habits: world.habits).handle(GetHabitSettingsRequest(), world.context)
            #expect(settings.theme == "dark")
            #expect(try await world.create("Read").name == "Read")
        }
    }
}
