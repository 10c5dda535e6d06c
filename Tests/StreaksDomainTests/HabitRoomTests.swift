import Kernel
import Testing

@testable import StreaksDomain

/// What edits of a habit come to when the account is full (D22). 2026-05-04 is a Monday.
@Suite struct HabitRoomTests {
    private func room(_ completions: Int, tombstones: Int = 1_000, deleting: Set<CompletionID> = []) -> HabitRoom {
        HabitRoom(
            completions: HabitRoom.Part(completions, else: .quotaExceeded("completions", most: 9, remedy: "Delete some.")),
            tombstones: HabitRoom.Part(tombstones, else: .quotaExceeded("deletions", most: 9, remedy: "Wait.")),
            deleting: deleting
        )
    }

    private func reasons(_ change: StreakChange) -> [Int: String] { change.refused.mapValues(\.reason) }
    private func rows(_ life: HabitLife) -> Int { life.whole.contributions.values.reduce(0) { $0 + $1.count } }

    @Test func `without room only a completion that would be a row is refused`() throws {
        var life = HabitTests.life()
        try life.edit("2026-05-04T12:00:00Z", .complete(id(1), on: day("2026-05-04"), nil))
        let change = try life.act(
            "2026-05-06T12:00:00Z",
            .edit(
                [
                    .complete(id(2), on: day("2026-05-04"), Amount(thousandths: 2_000)),
                    .complete(id(1), on: day("2026-05-04"), nil),
                    .change(id(1), on: day("2026-05-04"), Amount(thousandths: 3_000)),
                    .complete(id(3), on: day("2026-05-05"), nil), .skip(day("2026-05-05")), .unskip(day("2026-05-05")),
                ],
                room: room(0)
            )
        )
        #expect(reasons(change) == [3: "QUOTA_EXCEEDED"])
        #expect(change.refused[3]?.message == "You have 9 completions, as many as one account can have. Delete some.")
        #expect(change.merged == [0: id(1)])
        #expect(life.whole.completion(id(1), on: day("2026-05-04"))?.amount == Amount(thousandths: 3_000))
        #expect(rows(life) == 1)
    }

    @Test func `what a date refuses anyway is refused for that, with room and without`() throws {
        for room in [room(0), room(500)] {
            var life = HabitTests.life(target: Amount(thousandths: 1_000_000))
            let small = Amount(thousandths: 1)
            let full = (0..<HabitLimits.mostCompletions).map { HabitEdit.complete(id($0), on: day("2026-05-04"), small) }
            try life.act("2026-05-04T12:00:00Z", .edit(full))
            let change = try life.act(
                "2026-05-04T13:00:00Z",
                .edit(
                    [
                        .complete(id(200), on: day("2026-05-05"), small), .complete(id(201), on: day("2026-04-01"), small),
                        .complete(id(202), on: day("2026-05-04"), small),
                    ],
                    room: room
                )
            )
            #expect(reasons(change) == [0: "DATE_IN_FUTURE", 1: "DATE_TOO_OLD", 2: "TOO_MANY_COMPLETIONS"])
        }
    }

    @Test func `one that had no room has not moved the start`() throws {
        var (life, other) = (HabitTests.life(from: "2026-05-10"), HabitTests.life(from: "2026-05-10"))
        let skip = HabitEdit.skip(day("2026-05-09"))
        let alone = try other.act("2026-05-10T12:00:00Z", .edit([skip]))
        let change = try life.act(
            "2026-05-10T12:00:00Z",
            .edit([.complete(id(1), on: day("2026-05-08"), nil), skip], room: room(0))
        )
        #expect(reasons(alone) == [0: "DATE_NOT_DUE"])
        #expect(reasons(change) == [0: "QUOTA_EXCEEDED", 1: "DATE_NOT_DUE"])
        #expect(life.ledger == other.ledger)
    }

    @Test func `a deletion makes room for what comes with it, also for what comes before it`() throws {
        for edits: [HabitEdit] in [
            [.delete(id(1), on: day("2026-05-04")), .complete(id(2), on: day("2026-05-05"), nil)],
            [.complete(id(2), on: day("2026-05-05"), nil), .delete(id(1), on: day("2026-05-04"))],
        ] {
            var life = HabitTests.life()
            try life.edit("2026-05-04T12:00:00Z", .complete(id(1), on: day("2026-05-04"), nil))
            let change = try life.act("2026-05-05T12:00:00Z", .edit(edits, room: room(0, deleting: [id(1)])))
            #expect(change.refused.isEmpty && rows(life) == 1)
            #expect(life.whole.completion(id(2), on: day("2026-05-05")) != nil)
            // What is left goes to the next habit: nothing.
            var next = HabitTests.life()
            let more = HabitEdit.complete(id(3), on: day("2026-05-05"), nil)
            #expect(reasons(try next.act("2026-05-05T12:00:00Z", .edit([more], room: change.room))) == [0: "QUOTA_EXCEEDED"])
        }
    }

    @Test func `deleting is never refused, and what was deleted without end leaves no room for more`() throws {
        var life = HabitTests.life()
        let change = try life.act(
            "2026-05-05T12:00:00Z",
            .edit(
                [
                    .complete(id(1), on: day("2026-05-04"), nil), .delete(id(1), on: day("2026-05-04")),
                    .complete(id(2), on: day("2026-05-04"), nil),
                ],
                room: room(5, tombstones: 1)
            )
        )
        #expect(change.refused.mapValues { $0.message.prefix(20) } == [2: "You have 9 deletions"])
        try life.edit("2026-05-05T13:00:00Z", .complete(id(3), on: day("2026-05-04"), nil))
        let last = try life.act(
            "2026-05-05T14:00:00Z",
            .edit([.delete(id(3), on: day("2026-05-04"))], room: room(0, tombstones: 0))
        )
        #expect(last.refused.isEmpty && rows(life) == 0)
    }

    @Test func `however edits follow each other, no more rows are stored than fit, and none is refused that fits`() throws {
        let (first, second, third) = (day("2026-05-04"), day("2026-05-05"), day("2026-05-06"))
        let pool: [HabitEdit] = [
            .complete(id(2), on: second, nil), .complete(id(3), on: second, nil), .delete(id(1), on: first),
            .delete(id(2), on: second), .complete(id(4), on: third, nil),
        ]
        var start = HabitTests.life()
        try start.edit("2026-05-04T12:00:00Z", .complete(id(1), on: first, nil))
        func after(_ edits: [HabitEdit], _ room: HabitRoom) throws -> (life: HabitLife, change: StreakChange) {
            var life = start
            let change = try life.act("2026-05-06T12:00:00Z", .edit(edits, room: room))
            return (life, change)
        }
        for number in 0..<625 {
            let edits = [1, 5, 25, 125].map { pool[number / $0 % 5] }
            let (life, change) = try after(edits, room(1))
            #expect(rows(life) <= 2, "\(edits)")
            for (place, refusal) in change.refused where refusal.reason == "QUOTA_EXCEEDED" {
                #expect(rows(try after(Array(edits[..<place]), room(1)).life) == 2, "\(edits) at \(place)")
            }
            let isDeleted = edits.contains(.delete(id(1), on: first))
            #expect(rows(try after(edits, room(0, deleting: isDeleted ? [id(1)] : [])).life) <= 1, "\(edits)")
            let (free, ample) = (try after(edits, .unlimited), try after(edits, room(4)))
            #expect(free.life.whole == ample.life.whole && free.change.refused == ample.change.refused, "\(edits)")
        }
    }
}
