import Kernel
import TestSupport
import Testing

@testable import Database

/// Whatever is asked for and whenever connections die: a job is always in exactly one place, and every caller is answered.
@Suite struct RandomFaultTests {
    @Test(.serialized, arguments: 1...8) func `every job is in one place until its caller is answered`(seed: UInt64) async throws
    {
        var world = World(
            hand: try HandDrivenReactor(try await PostgresServer.shared()) {
                $0.poolSize = seed % 2 == 0 ? 1 : 3
                $0.statementCacheSize = 2
                $0.maximumInFlight = 8
            },
            random: Seeded(seed)
        )
        // Chance brings connections too, but perhaps too late for one to be lost.
        try world.hand.connect()
        for step in 0..<250 {
            let done = try await world.step()
            await Task.yield()
            let misplaced = world.hand.misplaced()
            try #require(misplaced.isEmpty, "step \(step), \(done): \(misplaced)")
        }
        try await world.endLeases()
        try await world.hand.untilAllAreAnswered()
        for task in world.tasks { _ = await task.result }
        #expect(world.hand.reactor.unanswered.isEmpty && world.hand.misplaced() == [])
        #expect(world.deaths > 0 && world.tasks.count > 50)
    }
}

/// What has been asked of a hand-driven reactor, and chance.
private struct World {
    let hand: HandDrivenReactor
    var random: Seeded
    var leases: [Lease] = []
    var tasks: [Task<ResultBox, any Error>] = []
    var deaths = 0

    /// Does something; returns what.
    mutating func step() async throws -> String {
        switch Int.random(in: 0..<100, using: &random) {
        case ..<10: return await submit("SELECT \(Int.random(in: 0..<6, using: &random))")
        case ..<25: return try await lookUp()
        case ..<35: return await submit("SELECT pg_backend_pid(), \(Int.random(in: 0..<6, using: &random))")
        case ..<38: return await submit("SELECT 1 / (1 - length('a'))")
        case ..<55: return await submitOnLease()
        case ..<60: return await endALease(at: leases.indices.randomElement(using: &random))
        case ..<66: return cancel()
        case ..<74:
            hand.reactor.dispatch()
            return "dispatch"
        case ..<92:
            hand.turn(waitingAtMost: random.chance(50) ? 1 : 0)
            return "turn"
        case ..<94:
            try hand.connect()
            return "connect"
        case ..<95:
            hand.pass(.seconds(4))
            return "pass"
        default: return kill()
        }
    }

    private mutating func submit(_ text: String, _ role: Job.Role = .statement, on lease: Lease? = nil) async -> String {
        tasks.append(await hand.submit(text, role, on: lease))
        return "\(role) \(text)"
    }

    /// Now and then with a value that makes those fail that are sent with it.
    private mutating func lookUp() async throws -> String {
        let divisor = Int.random(in: 0..<8, using: &random)
        tasks.append(await hand.submit(try Job("SELECT 8 / \(divisor)", lease: nil, isLookup: true)))
        return "lookup \(divisor)"
    }

    private mutating func submitOnLease() async -> String {
        if leases.isEmpty || random.chance(20) { leases.append(random.chance(50) ? hand.transaction() : hand.session()) }
        let lease = random.pick(leases)
        if lease.kind == .session, random.chance(40) { return await submit("SELECT 1; SELECT 2", .script, on: lease) }
        return await submit(random.pick(["SELECT 1", "SELECT pg_backend_pid()", "SELECT 1 / (1 - length('a'))"]), on: lease)
    }

    private mutating func endALease(at index: Int?) async -> String {
        guard let index else { return "nothing to end" }
        let lease = leases.remove(at: index)
        switch lease.kind {
        case .transaction:
            let isCommitted = random.chance(70)
            return await submit(isCommitted ? "COMMIT" : "ROLLBACK", isCommitted ? .commit : .rollback, on: lease)
        case .session:
            // As a session ends: what cleans it has no caller.
            hand.reactor.obey(.submit(Job(text: "ROLLBACK", role: .leaveTransaction, lease: lease)))
            return await submit("SELECT pg_advisory_unlock_all()", .lastCleanUp, on: lease)
        }
    }

    mutating func endLeases() async throws {
        while !leases.isEmpty {
            _ = await endALease(at: 0)
            hand.turn()
        }
    }

    private mutating func cancel() -> String {
        let waiting = hand.unanswered
        guard !waiting.isEmpty else { return "nothing to cancel" }
        let job = random.pick(waiting)
        hand.reactor.obey(.cancel(job))
        return "cancel \(job.role)"
    }

    private mutating func kill() -> String {
        let up = hand.reactor.connections.compactMap(\.self)
        guard !up.isEmpty else { return "nothing to kill" }
        deaths += 1
        let death = random.pick(HandDrivenReactor.Death.allCases)
        hand.kill(random.pick(up), death)
        return "kill \(death)"
    }
}
