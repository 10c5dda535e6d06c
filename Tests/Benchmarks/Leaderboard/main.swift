import Database
import FoundationEssentials
import Kernel
import StreaksDomain
import TestSupport

// The caller's rank among a million, and a midnight that changes all of them: the boards in memory beside plain SQL on a table
// with the index that serves it best. Prints what one of each costs.
//
//   deploy/dev bench leaderboard
//   swift run -c release leaderboard-benchmark [USERS]

let users = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1_000_000
let asked = 2_000

/// Pseudo-random numbers, the same in each run.
struct Dice {
    private var state: UInt64 = 7

    mutating func roll(_ sides: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(state >> 33) % sides
    }
}

/// Most streaks are short: a third ends every few days.
func count(_ dice: inout Dice) -> Int {
    var count = 1
    while count < 400, dice.roll(12) > 0 { count += 1 + dice.roll(3) }
    return count
}

func microseconds(_ body: () throws -> Void) rethrows -> Double { try ContinuousClock().measure(body) / .microseconds(1) }

nonisolated(nonsending) func microseconds(_ body: () async throws -> Void) async rethrows -> Double {
    let start = ContinuousClock.now
    try await body()
    return (ContinuousClock.now - start) / .microseconds(1)
}

/// Resident memory of this process in MB.
func resident() -> Double {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    return Double(text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4_096 / 1e6
}

func show(_ name: String, _ microseconds: Double, _ more: String = "") {
    let rounded = (microseconds * 10).rounded() / 10
    print("\(name)\(String(repeating: " ", count: max(1, 46 - name.count)))\(rounded) µs\(more.isEmpty ? "" : "   \(more)")")
}

func user(_ number: Int) -> UserID {
    UserID(high: 0x0190_0000_0000_7000 &+ UInt64(number), low: UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
}

var dice = Dice()
let day = CalendarDate(dayNumber: 20_000)
let counts = (0..<users).map { _ in count(&dice) }
func update(_ number: Int, _ count: Int) -> Leaderboards.Update {
    let score = count == 0 ? nil : BoardScore(count: count, longest: count + number % 5, runStart: day.advanced(by: -count))
    return Leaderboards.Update(kind: .checkIn, user: user(number), score: score)
}

print("in memory, \(users) users")
let before = resident()
var boards = Leaderboards()
let built = microseconds { boards = Leaderboards(counts.indices.map { update($0, counts[$0]) }) }
show("  building the board at the start", built, "\(Int(resident() - before)) MB, what building it took besides included")
var sum = 0
let ranks = microseconds { for _ in 0..<100_000 { sum += boards.standing(of: user(dice.roll(users)), .checkIn).rank ?? 0 } }
show("  a rank", ranks / 100_000)
show("  the first hundred", microseconds { for _ in 0..<1_000 { sum += boards.first(100, .checkIn).count } } / 1_000)
let midnight = microseconds {
    var start = 0
    while start < users {
        let numbers = start..<min(start + 500, users)
        boards.apply(numbers.map { update($0, $0 % 3 == 0 ? 0 : counts[$0] + 1) })
        start += 500
    }
}
show("  a change, of a midnight that changes all", midnight / Double(users), "all of it: \(Int(midnight / 1e3)) ms")

let server = try await PostgresServer.start(isDurable: false)
try await server.withDatabase(poolSize: 2) { database in
    print("plain SQL, \(users) rows with an index on (count, longest, run_start, id)")
    try await database.execute(
        "CREATE TABLE public.board (id uuid PRIMARY KEY, count int NOT NULL, longest int NOT NULL, run_start date NOT NULL)"
    )
    for start in stride(from: 0, to: users, by: 50_000) {
        let numbers = Array(start..<min(start + 50_000, users))
        try await database.execute(
            """
            INSERT INTO public.board SELECT * FROM unnest(\(numbers.map(user)), \(numbers.map { Int32(counts[$0]) }),
                \(numbers.map { Int32(counts[$0] + $0 % 5) }), \(numbers.map { day.advanced(by: -counts[$0]) }))
            """
        )
    }
    try await database.execute("CREATE INDEX board_order ON public.board (count DESC, longest DESC, run_start, id)")
    _ = try await database.withSession { try await $0.execute("VACUUM ANALYZE public.board") }
    var dice = Dice()
    let ranks = try await microseconds {
        for _ in 0..<50 {
            _ = try await database.query(
                """
                SELECT count(*) FROM public.board b, (SELECT * FROM public.board WHERE id = \(user(dice.roll(users)))) AS me
                WHERE b.count > me.count OR (b.count = me.count AND (b.longest > me.longest
                    OR (b.longest = me.longest AND (b.run_start, b.id) < (me.run_start, me.id))))
                """
            )
        }
    }
    show("  a rank", ranks / 50)
    let firsts = try await microseconds {
        for _ in 0..<asked {
            _ = try await database.query("SELECT id FROM public.board ORDER BY count DESC, longest DESC, run_start, id LIMIT 100")
        }
    }
    show("  the first hundred", firsts / Double(asked))
    let changed = min(users, 100_000)
    let midnight = try await microseconds {
        for start in stride(from: 0, to: changed, by: 500) {
            let ids = (start..<min(start + 500, changed)).map(user)
            try await database.execute("UPDATE public.board SET count = count + 1 WHERE id = ANY(\(ids))")
        }
    }
    show("  a change, 500 at a time", midnight / Double(changed))
}
await server.stop()
if sum == 0 { print("nothing was measured") }
