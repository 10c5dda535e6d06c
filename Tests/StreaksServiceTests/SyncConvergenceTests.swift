import Bus
import Kernel
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import StreaksCore
@testable import StreaksHabitSync
@testable import StreaksHabits

/// Five devices of one person, whatever they do and whatever the network loses: at the end all have the same, and it is what a sequential
/// model of the acknowledged changes has (HA-7).
@Suite(.timeLimit(.minutes(TestDepth.pick(quick: 10, full: 60)))) struct SyncConvergenceTests {
    @Test(arguments: TestDepth.seeds(quick: 2, full: 100))
    func `five devices converge to what was acknowledged`(block: UInt64) async throws {
        let count = TestDepth.pick(quick: UInt64(10), full: 100)
        try await withHabits { world in
            var answers: [String: Int] = [:]
            for seed in block * count..<(block + 1) * count {
                let history = SyncHistory(seed: seed)
                guard let problem = try await Self.problem(seed, history.steps, world, trial: 0, answers: &answers) else {
                    continue
                }
                Issue.record("\(try await Self.report(seed, history.steps, problem, world))")
                return
            }
            // Most changes hold, and the rules by which others do not are met.
            let all = answers.values.reduce(0, +)
            let held = ["applied", "merged", "repeated"].reduce(0) { $0 + answers[$1, default: 0] }
            #expect(held * 2 > all && held < all && all > Int(count) * 20, "\(answers)")
            for code in ["merged", "GONE", "VALIDATION_ERROR", "DATE_TOO_OLD", "repeated"] {
                #expect(answers[code, default: 0] > 0, "\(code)")
            }
        }
    }

    @Test func `a history that fails is reported with its seed and no more steps than it needs`() async throws {
        try await withHabits { world in
            // A rule that is not ours: there are no day notes.
            func rule(_ lines: [String]) -> String? { lines.contains { $0.hasPrefix("note") } ? "there is a note" : nil }
            var found: String?
            for seed in 0..<20 as Range<UInt64> where found == nil {
                let steps = SyncHistory(seed: seed).steps
                guard let problem = try await Self.problem(seed, steps, world, trial: 0, rule) else { continue }
                found = try await Self.report(seed, steps, problem, world, rule)
                #expect(found?.hasPrefix("seed \(seed): there is a note\n") == true)
            }
            let lines = try #require(found).split(separator: "\n")
            #expect(lines.count == 2 && lines[1].contains("day_note"), "\(lines)")
        }
    }

    private static func report(
        _ seed: UInt64,
        _ steps: [SyncHistory.Step],
        _ problem: String,
        _ world: HabitWorld,
        _ rule: ([String]) -> String? = { _ in nil }
    ) async throws -> String {
        var (problem, trial) = (problem, UInt64(0))
        let short = try await SyncHistory.shrink(steps) { rest in
            trial += 1
            guard let other = try await Self.problem(seed, rest, world, trial: trial, rule) else { return false }
            problem = other
            return true
        }
        return "seed \(seed): \(problem)\n" + short.map(\.description).joined(separator: "\n")
    }

    /// Plays a history with a user of its own.
    ///
    /// - Returns: what is wrong.
    private static func problem(
        _ seed: UInt64,
        _ steps: [SyncHistory.Step],
        _ world: HabitWorld,
        trial: UInt64,
        _ rule: ([String]) -> String? = { _ in nil }
    ) async throws -> String? {
        var answers: [String: Int] = [:]
        return try await problem(seed, steps, world, trial: trial, answers: &answers, rule)
    }

    private static func problem(
        _ seed: UInt64,
        _ steps: [SyncHistory.Step],
        _ world: HabitWorld,
        trial: UInt64,
        answers: inout [String: Int],
        _ rule: ([String]) -> String? = { _ in nil }
    ) async throws -> String? {
        var life = SyncLife(world.of(UserID(high: 2 + seed, low: trial)), isPremium: seed % 2 == 0)
        try await life.begin()
        for step in steps {
            try await life.play(step)
            if let problem = life.problem { return problem }
        }
        try await life.finish()
        answers.merge(life.answers, uniquingKeysWith: +)
        if let problem = life.problem { return problem }
        return rule(life.model.lines)
    }
}

/// The devices of a person, the server, and the model beside it.
private struct SyncLife {
    let world: HabitWorld
    var model: SyncModel
    var devices: [SyncDevice]
    /// What was wrong first.
    var problem: String?
    /// How many answers of each kind came.
    var answers: [String: Int] = [:]

    init(_ world: HabitWorld, isPremium: Bool) {
        self.world = world
        model = SyncModel(isPremium: isPremium, today: Zone.utc.date(at: world.clock.now()))
        devices = (1...UInt64(SyncHistory.deviceCount)).map { SyncDevice($0) }
    }

    private var today: CalendarDate { Zone.utc.date(at: world.clock.now()) }

    mutating func begin() async throws {
        try await world.register()
        if model.isPremium { try await world.premium() }
        // The first contact makes the categories of the start, whose ids only the server knows.
        let first = try await world.push([], device: 1)
        model.begin(try await defaults())
        _ = model.take(SyncRequest(deviceID: devices[0].id, schemaVersion: 1), today: today)
        if first.epoch != 1 { problem = "the first epoch is \(first.epoch)" }
    }

    private func defaults() async throws -> [(id: String, name: String, color: String, icon: String)] {
        try await HabitAccountRepository.categories(of: world.user, world.database).map { record in
            ("\(record.id)", record.details.name, record.details.color, record.details.icon)
        }
    }

    mutating func play(_ step: SyncHistory.Step) async throws {
        switch step {
        case .edit(let device, let change): devices[device].queue.append(resolved(change, devices[device]))
        case .sync(let device, let batch, let limit, let fault, let calls):
            try await sync(device, batch: batch, limit: limit, fault, calls: calls)
        case .restore(let habits):
            let kept = habits.enumerated().map { place, id in (habitID(id), "Restored \(place)", place == 0 ? 5.0 : nil) }
            try await world.restore(
                kept.map { ($0.0, $0.1, $0.2.map { Amount(thousandths: Int64($0 * 1_000)) }) }
            )
            model.restore(kept.map { ("\($0.0)", $0.1, $0.2) }, try await defaults(), today: today)
        case .clock(let time): world.clock.advance(by: time)
        }
    }

    /// With the dates and numbers that the device knows when it makes the change.
    private func resolved(_ change: SyncChange, _ device: SyncDevice) -> SyncChange {
        func date(_ days: String) -> String { Int(days).map { "\(today.advanced(by: $0))" } ?? "" }
        return change.with {
            $0.date = date($0.date)
            if let pause = $0.pause { $0.pause = SyncPauseFields(from: date(pause.from), until: date(pause.until)) }
            if let day = CalendarDate($0.date), $0.entity == "day_note" { $0.baseSequence = device.notes[day]?.sequence ?? 0 }
            if let id = HabitID($0.entityID), $0.entity == "habit" { $0.baseSequence = device.habits[id]?.sequence ?? 0 }
        }
    }

    private mutating func sync(_ index: Int, batch: Int, limit: Int32, _ fault: SyncDevice.Fault, calls: Int) async throws {
        var device = devices[index]
        try await device.sync(batch: batch, limit: limit, fault: fault, calls: calls) { try await call($0) }
        devices[index] = device
    }

    private mutating func call(_ request: SyncRequest) async throws -> SyncReply {
        world.clock.advance(by: .seconds(1))
        // A request may have several, as when its changes do not fit into one transaction.
        model.sequence = try await sequence()
        let expected = model.take(request, today: today)
        let reply: SyncReply
        do { reply = try await world.sync(request) } catch let error as ServiceError {
            let isExpected = expected == nil && error.reason == "RESYNC_REQUIRED"
            if !isExpected { note("\(request.deviceID) is refused with \(error)") }
            throw error
        }
        for result in reply.results { count(result) }
        let answers = reply.results.map { result in
            (result.code ?? result.outcome.name) + (result.mergedInto.map { ">" + $0 } ?? "") + (result.repeated ? "*" : "")
        }
        if answers != expected ?? ["RESYNC_REQUIRED"] {
            for (index, change) in request.changes.enumerated() where answers[index] != expected?[index] {
                note("\(change.entity) \(change.operation) is \(answers[index]), not \(expected?[index] ?? "RESYNC_REQUIRED")")
            }
            note("\(answers), not \(expected ?? [])")
        }
        if reply.results.map(\.changeID) != request.changes.map(\.changeID) { note("answers to other changes") }
        if reply.epoch != model.epoch { note("epoch \(reply.epoch), not \(model.epoch)") }
        if reply.earliestDate != model.earliest(of: request.deviceID) { note("earliest date \(reply.earliestDate)") }
        return reply
    }

    /// The number of the newest change.
    private func sequence() async throws -> Int64 {
        let rows = try await world.database.query("SELECT sequence FROM habit_account WHERE user_id = \(world.user)")
        return try rows.first?.decode(as: Int64.self) ?? 0
    }

    private mutating func count(_ result: SyncResult) {
        answers[result.repeated ? "repeated" : result.code ?? result.outcome.name, default: 0] += 1
    }

    private mutating func note(_ text: String) { problem = problem ?? text }

    /// All sync twice without fault, and are compared.
    mutating func finish() async throws {
        for _ in 0..<2 {
            for index in devices.indices { try await sync(index, batch: 1_000, limit: 7, .none, calls: .max) }
        }
        let fresh = try await world.everything()
        for (index, device) in devices.enumerated() {
            if !device.queue.isEmpty { note("device \(index) has changes that were not answered") }
            compare(device.wholeLines, fresh.wholeLines, "device \(index)", "a fresh one")
        }
        compare(fresh.lines, model.lines, "the server", "the model")
    }

    private mutating func compare(_ one: [String], _ other: [String], _ name: String, _ otherName: String) {
        guard one != other else { return }
        let (more, less) = (one.filter { !other.contains($0) }, other.filter { !one.contains($0) })
        note("\(name) has \(more), \(otherName) \(less)")
    }
}
