import Bus
import Kernel
import Outbox
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import ServiceRuntime
@testable import StreaksCore
@testable import StreaksHabitSync
@testable import StreaksHabits

/// How devices pull: pages, cursors, what was deleted, and that nothing committed late is skipped (HA-7).
@Suite(.timeLimit(.minutes(10))) struct SyncPageTests {
    /// Six habits with everything that a device can have, and some of it deleted.
    private func fill(_ world: HabitWorld) async throws {
        try await world.premium()
        let pauses = SyncChange(80, "pause", "create").with {
            ($0.habitID, $0.pause) = ("\(habitID(2))", SyncPauseFields(from: "2026-01-06", until: "2026-01-09"))
        }
        try await world.push((1...6).map { Push.habit($0, $0, "Habit \($0)", target: $0 > 4 ? 10 : nil) })
        try await world.push(
            (0..<30).map {
                Push.done(100 + $0, $0, 1 + $0 % 6, on: "2026-01-0\(1 + $0 / 6)", SyncCompletionFields(note: "note \($0)"))
            }
        )
        try await world.push((0..<12).map { Push.skip(200 + $0, 1 + $0 % 6, on: "2026-01-0\(4 + $0 / 6)") })
        try await world.push((1...5).map { Push.note(300 + $0, "note \($0)", on: "2026-01-0\($0)") } + [pauses])
        try await world.push([
            Push.undone(400, 3), Push.undone(401, 4), Push.undone(402, 5), Push.skip(403, 1, on: "2026-01-04", "delete"),
            Push.skip(404, 2, on: "2026-01-04", "delete"), Push.note(405, "", on: "2026-01-02"), Push.on(406, "delete", 6),
        ])
    }

    @Test(arguments: [1, 2, 3, 7, 0] as [Int32])
    func `small pages give the same as one big page, also of what was deleted since`(limit: Int32) async throws {
        try await withHabits { world in
            var follower = SyncDevice(7)
            try await follower.sync { try await world.sync($0) }
            try await fill(world)
            let whole = try await world.everything()
            #expect(whole.habits.count == 5 && whole.completions.count == 23 && whole.skips.count == 8 && whole.notes.count == 4)
            var (pages, entries) = (0, 0)
            var device = SyncDevice(8)
            try await device.sync(limit: limit) { request in
                let reply = try await world.sync(request)
                pages += 1
                entries += reply.entryCount
                #expect(limit == 0 || reply.entryCount <= Int(limit))
                #expect(reply.hasMore == reply.streaks.isEmpty, "standings come with the last page")
                return reply
            }
            #expect(device.wholeLines == whole.wholeLines)
            #expect(limit == 0 || pages == (entries + Int(limit) - 1) / Int(limit))
            // One that had nothing of it is sent no deletions; one that was here before is.
            #expect(entries == 5 + 23 + 8 + 4 + 5 + 1)
            try await follower.sync(limit: limit) { try await world.sync($0) }
            #expect(follower.wholeLines == whole.wholeLines)
            // Nothing is left.
            let last = try await world.sync(SyncRequest(deviceID: device.id, schemaVersion: 1, epoch: 1, cursor: device.cursor))
            #expect(last.entryCount == 0 && !last.hasMore && !last.reset && last.streaks.count == 5)
        }
    }

    @Test(arguments: TestDepth.seeds(quick: 6, full: 60))
    func `what another device changes between the pages is not missed`(seed: UInt64) async throws {
        try await withHabits { world in
            try await fill(world)
            var random = Seeded(seed)
            var number: UInt64 = 1_000
            var (device, follower) = (SyncDevice(8), SyncDevice(9))
            try await follower.sync { try await world.sync($0) }
            for round in 0..<2 {
                var left = 25
                try await device.sync(limit: Int32.random(in: 1...4, using: &random)) { request in
                    let reply = try await world.sync(request)
                    guard left > 0 else { return reply }
                    left -= 1
                    number += 1
                    try await world.push([change(number, &random)], device: 3)
                    return reply
                }
                let whole = try await world.everything()
                try await device.sync { try await world.sync($0) }
                try await follower.sync(limit: 2) { try await world.sync($0) }
                #expect(device.wholeLines == whole.wholeLines, "seed \(seed), round \(round)")
                #expect(follower.wholeLines == whole.wholeLines, "seed \(seed), round \(round)")
            }
        }
    }

    private func change(_ number: UInt64, _ random: inout Seeded) -> SyncChange {
        let (habit, date) = (UInt64.random(in: 1...6, using: &random), "2026-01-0\(Int.random(in: 1...5, using: &random))")
        let completion = UInt64.random(in: 0..<30, using: &random)
        switch Int.random(in: 0..<9, using: &random) {
        case 0: return Push.done(number, number, habit, on: date, SyncCompletionFields(value: 1))
        case 1: return Push.edit(number, completion, SyncCompletionFields(note: "\(number)"))
        case 2: return Push.undone(number, completion)
        case 3: return Push.skip(number, habit, on: date, random.chance(50) ? "create" : "delete")
        case 4: return Push.note(number, random.chance(50) ? "\(number)" : "", on: date)
        case 5: return Push.update(number, habit, SyncHabitFields(name: "Habit \(number)"))
        case 6: return Push.on(number, random.chance(50) ? "delete" : "undelete", habit)
        case 7: return SyncChange(number, "habit_order", "update").with { $0.ids = ["\(habitID(habit))"] }
        default:
            return SyncChange(number, "settings", "update").with {
                $0.settings = SyncSettingsFields(onboarded: random.chance(50))
            }
        }
    }

    @Test func `a cursor that this list has not given out to this user is refused by name`() async throws {
        try await withHabits { world in
            let other = world.of(UserID(high: 1, low: 2))
            try await other.register()
            let mine = try await world.push([Push.habit(1, 1, "Read"), Push.habit(2, 2, "Walk")]).nextCursor
            let theirs = try await other.push([Push.habit(1, 1, "Read")]).nextCursor
            let list = try await world.list(ListHabitsRequest(limit: 1))
            let foreign = CursorScope("streaks.Other", of: world.user).text(
                after: SyncPosition(epoch: 1, sequence: 1, table: .end, since: world.clock.now(), floor: 0)
            )
            var cursors = [
                theirs, foreign, "x", "AAAA", "\u{1F600}", String(repeating: "A", count: 200), mine + "A",
                String(mine.dropLast()),
            ]
            if let next = list.meta?.nextCursor { cursors.append(next) }
            for (place, character) in mine.enumerated() where place % 5 == 0 {
                var text = Array(mine)
                text[place] = character == "A" ? "B" : "A"
                cursors.append(String(text))
            }
            for cursor in cursors {
                let request = SyncRequest(deviceID: SyncDevice(1).id, schemaVersion: 1, epoch: 1, cursor: cursor)
                let fields = await world.fields { _ = try await world.sync(request) }
                #expect(Array(fields.keys) == ["cursor"], "\(cursor)")
            }
            let good = try await world.sync(SyncRequest(deviceID: SyncDevice(1).id, schemaVersion: 1, epoch: 1, cursor: mine))
            #expect(good.entryCount == 0 && !good.reset)
        }
    }

    @Test func `a position that cannot be of this database begins anew, and one that is no position is refused`() async throws {
        try await withHabits { world in
            try await fill(world)
            let now = world.clock.now()
            let scope = CursorScope(SyncRequest.fullName, of: world.user)
            func pull(_ position: SyncPosition) async throws -> SyncReply {
                let cursor = scope.text(after: position)
                return try await world.sync(SyncRequest(deviceID: SyncDevice(1).id, schemaVersion: 1, epoch: 1, cursor: cursor))
            }
            let newest = SyncPosition(epoch: 1, sequence: 1_000, table: .end, since: now, floor: 1_000)
            var late = newest
            late.sequence = .max
            var epoch = newest
            (epoch.epoch, epoch.sequence) = (7, 1)
            var old = newest
            (old.sequence, old.since) = (1, now - .days(400))
            for position in [newest, late, epoch, old] {
                let reply = try await pull(position)
                #expect(reply.reset && reply.habits.count == 5 && reply.deleted.isEmpty && !reply.hasMore, "\(position)")
            }
            // Every table's keys are understood where a page may end, whatever they say.
            let keys: [(SyncPosition.Table, String)] = [
                (.settings, ""), (.category, "\(habitID(0))"), (.habit, "\(habitID(3))"), (.completion, "\(completionID(9))"),
                (.skip, "\(habitID(3)) 2026-01-04"), (.dayNote, "2026-01-03"), (.deletion, "3 \(completionID(4))"),
                (.deletion, "9 '); --"),
                (.deletion, "4 \(habitID(3)) 2026-01-04"), (.deletion, "-1 "),
            ]
            for (table, key) in keys {
                let reply = try await pull(SyncPosition(epoch: 1, sequence: 3, table: table, key: key, since: now, floor: 0))
                #expect(!reply.reset && reply.deleted.count == 7, "\(table) \(key)")
            }
            let bad: [(SyncPosition.Table, String)] = [
                (.settings, "x"), (.habit, "3"), (.completion, ""), (.skip, "\(habitID(3))"), (.skip, "\(habitID(3)) 2026-02-30"),
                (.dayNote, "yesterday"), (.deletion, "x y"), (.deletion, "99999999999 x"), (.end, "x"), (.deletion, "3 \n"),
            ]
            for (table, key) in bad {
                let position = SyncPosition(epoch: 1, sequence: 3, table: table, key: key, since: now, floor: 0)
                #expect(await world.fields { _ = try await pull(position) }.keys.first == "cursor", "\(table) \(key)")
            }
        }
    }

    @Test func `a device that comes back after a year pulls what has changed, and after 400 days everything anew`() async throws {
        try await withHabits { world in
            try await fill(world)
            var (year, longer) = (SyncDevice(8), SyncDevice(9))
            try await year.sync { try await world.sync($0) }
            try await longer.sync { try await world.sync($0) }
            let purge = HabitPurge(work: world.work, database: world.database).jobs + SyncPurge(database: world.database).jobs
            var number: UInt64 = 1_000
            for month in 0..<14 {
                world.clock.advance(by: .days(29))
                for job in purge { while try await job.run(world.clock.now()) > 0 {} }
                let today = try await world.habits.date(of: world.user, world.context).today
                number += 10
                try await world.push(
                    [
                        Push.done(number, number, 1, on: "\(today)"), Push.note(number + 1, "month \(month)", on: "\(today)"),
                        Push.undone(number + 2, UInt64(6 + month)), Push.on(number + 3, "delete", UInt64(2 + month % 4)),
                        Push.habit(number + 4, number, "Habit of \(month)"),
                    ],
                    device: 3
                )
                guard month == 12 else { continue }
                // 377 days.
                var pages = 0
                try await year.sync(limit: 10) { request in
                    let reply = try await world.sync(request)
                    pages += 1
                    #expect(!reply.reset)
                    return reply
                }
                #expect(pages > 3)
                #expect(year.wholeLines == (try await world.everything()).wholeLines)
            }
            // 406 days.
            var resets: [Bool] = []
            try await longer.sync(limit: 10) { request in
                let reply = try await world.sync(request)
                resets.append(reply.reset)
                return reply
            }
            #expect(resets.count > 3 && resets.first == true && !resets.dropFirst().contains(true))
            #expect(longer.wholeLines == (try await world.everything()).wholeLines)
        }
    }

    @Test func `what is committed late is not skipped`() async throws {
        try await withHabits { world in
            try await world.push([Push.habit(1, 1, "Read")])
            var device = SyncDevice(8)
            try await device.sync { try await world.sync($0) }
            let pull = SyncRequest(deviceID: device.id, schemaVersion: 1, epoch: 1, cursor: device.cursor)
            // One change is written and not committed; another waits behind it; a third device pulls meanwhile and waits for neither.
            let waiting = try await world.work.run(world.context) { work in
                let book = try await world.habits.open(world.user, work)
                try await book.create(HabitBook.NewHabit(try HabitDetails(name: "Slow"), schedule: .daily, id: habitID(2)))
                let rows = try await work.sql.query("SELECT pg_current_xact_id()::text")
                let held = try #require(rows.first).decode(as: String.self)
                let waiting = Task { try await world.push([Push.habit(3, 3, "Behind")], device: 3) }
                try await eventually {
                    try await !world.database.query("SELECT 1 FROM pg_locks WHERE NOT granted AND transactionid::text = \(held)")
                        .isEmpty
                }
                let pulled = try await world.sync(pull)
                #expect(pulled.entryCount == 0 && !pulled.hasMore)
                return (waiting, pulled.nextCursor)
            }
            device.cursor = waiting.1
            let behind = try await waiting.0.value
            #expect(behind.habits.map(\.id) == [habitID(1), habitID(2), habitID(3)])
            try await device.sync { try await world.sync($0) }
            #expect(device.habits.keys.sorted() == [habitID(1), habitID(2), habitID(3)])
            #expect(device.habits[habitID(2)]?.sequence ?? 0 < device.habits[habitID(3)]?.sequence ?? 0)
            #expect(device.wholeLines == (try await world.everything()).wholeLines)
        }
    }

    @Test func `pulls beside changes never fail, and see each change whole`() async throws {
        try await withHabits { world in
            try await world.premium()
            try await world.push([Push.habit(1, 1, "Read", target: 1_000), Push.habit(2, 2, "Walk")])
            let rounds = TestDepth.pick(quick: UInt64(40), full: 400)
            let writer = Task {
                for round in 0..<rounds {
                    let (number, text) = (10 + round * 10, "\(round)")
                    try await world.push(
                        [
                            Push.update(number, 1, SyncHabitFields(description: text)),
                            Push.update(number + 1, 2, SyncHabitFields(description: text, targetValue: Double(1 + round))),
                            Push.note(number + 2, text, on: "2026-01-05"),
                            Push.on(number + 3, round % 2 == 0 ? "archive" : "unarchive", 2),
                        ],
                        device: 3
                    )
                }
            }
            var device = SyncDevice(8)
            var pulls = 0
            while device.notes.values.first?.note != "\(rounds - 1)" {
                try await device.sync { try await world.sync($0) }
                pulls += 1
                let texts = [device.habits[habitID(1)]?.description, device.habits[habitID(2)]?.description]
                #expect(texts[0] == texts[1])
                if let note = device.notes.values.first { #expect(note.note == texts[0]) }
            }
            try await writer.value
            #expect(pulls > 0)
        }
    }

    @Test func `answers and devices are deleted after 400 days, and the least seen of more than 50`() async throws {
        try await withHabits { world in
            let jobs = SyncPurge(database: world.database).jobs
            try await world.push([Push.habit(1, 1, "Read")])
            for device in 2...60 as ClosedRange<UInt64> {
                world.clock.advance(by: .seconds(1))
                try await world.push([], device: device)
            }
            func counts() async throws -> [Int] {
                let rows = try await world.database.query(
                    "SELECT (SELECT count(*) FROM habit_sync_change), (SELECT count(*) FROM habit_sync_device)"
                )
                let (changes, devices) = try #require(rows.first).decode(as: (Int.self, Int.self))
                return [changes, devices]
            }
            #expect(try await counts() == [1, 50])
            let known = try await world.database.query(
                "SELECT 1 FROM habit_sync_device WHERE device_id = \(HabitID(high: 0xD0, low: 10))"
            )
            #expect(known.isEmpty)
            world.clock.advance(by: .days(399))
            for job in jobs { #expect(try await job.run(world.clock.now()) == 0) }
            #expect(try await world.push([Push.habit(1, 1, "Read")], device: 60).answers == ["applied*"])
            world.clock.advance(by: .days(2))
            for job in jobs { _ = try await job.run(world.clock.now()) }
            #expect(try await counts() == [0, 1])
            #expect(try await world.push([Push.habit(1, 1, "Read")], device: 60).answers == ["HABIT_ID_TAKEN"])
        }
    }
}

extension SyncReply {
    /// Entries on the page.
    var entryCount: Int {
        habits.count + categories.count + completions.count + skips.count + dayNotes.count + deleted.count
            + (settings == nil ? 0 : 1)
    }
}
