import AuthAPI
import BillingAPI
import Database
import Foundation
import Kernel
import Outbox
import Processes
import Replicas
import StreaksDomain
import StreaksReplay
import Synchronization
import TestSupport
import Testing
import Wire

@testable import ServiceRuntime
@testable import StreaksCore
@testable import StreaksMutual

/// What the streak engine must answer, case by case, through the database: every kind is stored, settled and read back by the one store.
@Suite(.timeLimit(.minutes(10))) struct StoredCaseTests {
    /// A kind without events: these tests are about the store.
    private struct Silent: StreakKindEvents {
        let kind: StreakKind
        let feature = "silent"
        func events(of _: PlannedChange) -> [any Event] { [] }
    }

    /// The streak of one case, as rows.
    private struct StoredStreakOfCase: CaseStreak {
        let world: World
        let writer: StreakWriter
        let id: StreakID
        let versions: Versions

        /// The version of the profile that was consumed last.
        final class Versions: Sendable {
            private let last = Atomic<Int64>(0)
            func next() -> Int64 { last.add(1, ordering: .relaxed).newValue }
        }

        func apply(_ command: StreakCommand, at now: Instant) async throws -> CalendarDate? {
            world.clock.set(max(now, world.clock.now()))
            switch command {
            case .changeZone(let user, let zone, _):
                try await changeZone(of: user, to: zone)
                return nil
            case .declareOutage(let from, let until):
                try await world.database.execute(
                    """
                    INSERT INTO outage (id, from_at, until_at, declared_at) VALUES (gen_random_uuid(), \(from), \(until), \(now))
                    """
                )
                try await settle()
                return nil
            case .changePlan(let user, let isPremium, let until, _):
                let event = EntitlementsChanged(
                    userID: user,
                    version: versions.next(),
                    plan: isPremium ? .premium : .free,
                    expiresAt: isPremium ? until : nil,
                    changedAt: now
                )
                let accounts = AccountConsumers(writer: writer)
                // Redelivery changes nothing.
                for _ in 1...2 {
                    try await world.consume(event, by: [EntitlementReplica().handler(changed: accounts.entitlementsChanged)])
                }
                return nil
            case .join(let user, let zones, _):
                return try await world.work.run(trace: "", requestID: "") { work in
                    // Who was a member before keeps the zones they had since.
                    if try await ZoneRepository.histories(of: [user], work.sql).isEmpty {
                        _ = try await ZoneRepository.add(zones.zone(at: now), of: user, since: now - .days(400), work.sql)
                    }
                    guard let stored = try await writer.store.lock([id], work.sql).first else { throw ServiceError.internal }
                    return try await writer.join(user, stored, work).change.creditedTo
                }
            default:
                return try await world.work.run(trace: "", requestID: "") { work in
                    guard let stored = try await writer.store.lock([id], work.sql).first else { throw ServiceError.internal }
                    return try await writer.apply(command, to: stored, work).change.creditedTo
                }
            }
        }

        private func changeZone(of user: UserID, to zone: Zone) async throws {
            let accounts = AccountConsumers(writer: writer)
            let profile = ProfileState(
                userID: user,
                version: versions.next(),
                username: "user",
                displayName: "User",
                timeZone: zone.name,
                status: .active,
                timeZoneSince: world.clock.now()
            )
            let handler = world.service.core.profiles.handler(changed: accounts.profileChanged)
            try await world.consume(ProfileChanged(userID: user, profile: profile), by: [handler])
        }

        private func settle() async throws {
            try await world.work.run(trace: "", requestID: "") { work in
                _ = try await writer.settle(try await writer.store.lock([id], work.sql), work)
            }
        }

        func state(at now: Instant) async throws -> StreakState {
            world.clock.set(max(now, world.clock.now()))
            try await settle()
            let stored = try #require(try await writer.store.load([id], isWhole: true).first)
            return fold(stored.ledger, writer.policy(for: stored.row.kind), at: now)
        }

        /// The row says the same as the ledger, and the checkpoint too.
        func problems(at now: Instant) async throws -> [String] {
            let state = try await state(at: now)
            let stored = try #require(try await writer.store.load([id]).first)
            let row = stored.row
            var problems: [String] = []
            func check(_ what: String, _ isRight: Bool) { if !isRight { problems.append("the row has another \(what)") } }
            check("status", row.status == state.status)
            check("count", Int(row.count) == state.count && Int(row.longest) == state.longest)
            check("deadline", row.deadlineAt == state.deadlineAt && row.openDate == state.openDate)
            check("risk", row.atRiskFrom == state.atRiskFrom)
            check("break", row.brokenAt == state.brokenAt && row.brokenBy == state.brokenBy)
            check("due date", row.nextDue == state.nextDue)
            let short = fold(stored.ledger, writer.policy(for: row.kind), at: now)
            check("checkpoint", short.count == state.count && short.freezesLeft == state.freezesLeft)
            check("protection", short.protections == state.protections && short.freeDatesLeft == state.freeDatesLeft)
            return problems
        }
    }

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../StreaksDomainTests")
        .standardizedFileURL
    private static let kinds = ["mutual": StreakKind.mutual, "check_in": .checkIn, "typed": .socialShare, "team": .team]

    /// Plays the cases of the kinds that the store has, each in a world of its own.
    private func play(_ file: Data) async throws -> [CaseReplay.Result] {
        var results: [CaseReplay.Result] = []
        try await withWorld(at: "2010-01-01T00:00:00Z") { world in
            results = try await CaseReplay().play(file) { start in
                guard let kind = Self.kinds[start.kind] else { return nil }
                return try await begin(start, kind, world)
            }
        }
        return results
    }

    private func begin(_ start: CaseStart, _ kind: StreakKind, _ world: World) async throws -> any CaseStreak {
        for table in [
            "streak", "streak_member", "contribution", "streak_cover", "streak_freeze", "streak_pause", "streak_checkpoint",
            "streak_protection", "streak_former_stay",
        ] {
            try await world.database.execute("DELETE FROM \(identifier: table)")
        }
        for table in ["outage", "zone_change", "profile_replica", "plan_change", "entitlement_replica"] {
            try await world.database.execute("DELETE FROM \(identifier: table)")
        }
        world.clock.set(start.ledger.start)
        let extensions = StreakExtensions(
            policies: StreakPolicies(replacing: [kind: start.policy]),
            kinds: [Silent(kind: kind)],
            followers: []
        )
        let writer = StreakWriter(database: world.database, extensions)
        let id = try await world.work.run(trace: "", requestID: "") { work in
            for participant in start.ledger.participants {
                let zone = participant.zones.zone(at: work.now)
                _ = try await ZoneRepository.add(zone, of: participant.user, since: work.now - .days(400), work.sql)
            }
            return try await writer.start(
                .init(
                    kind,
                    of: start.ledger.participants.map(\.user),
                    key: nil,
                    freezes: start.ledger.freezeGrants.map(\.count).reduce(0, +)
                ),
                work
            )
        }
        return StoredStreakOfCase(world: world, writer: writer, id: id, versions: .init())
    }

    private func expectAll(_ results: [CaseReplay.Result], atLeast count: Int) {
        #expect(results.count >= count)
        for result in results where !result.disagreements.isEmpty {
            Issue.record("\(result.name): \(result.disagreements.joined(separator: "; "))")
        }
    }

    @Test func `the given cases of mutual streaks and check-ins come out the same through the database`() async throws {
        let file = try Data(contentsOf: Self.folder.appending(path: "streak-cases.json"))
        expectAll(try await play(file), atLeast: 30)
    }

    @Test(arguments: TestDepth.seeds(quick: 1, full: 4))
    func `random cases come out the same through the database as the model says`(seed: UInt64) async throws {
        let model = Self.folder.appending(path: "model/streak_model.py").path
        let cases = TestDepth.pick(quick: 12, full: 40)
        let result = try await run("python3", [model, "fill", "\(500 + seed)", "\(cases)"], within: .seconds(600))
        try #require(result.status == 0, "\(result.text) \(result.errors)")
        expectAll(try await play(Data(result.output)), atLeast: 1)
    }

    @Test func `a check-in with freezes and a pause is settled by the job of its kind, and by no other`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let extensions = StreakExtensions(kinds: [Silent(kind: .checkIn)], followers: [])
            let writer = StreakWriter(database: world.database, extensions)
            let user = try await world.person(1)
            func command(_ command: StreakCommand, _ id: StreakID) async throws {
                try await world.work.run(trace: "", requestID: "") { work in
                    for stored in try await writer.store.lock([id], work.sql) {
                        try await writer.apply(command, to: stored, work)
                    }
                }
            }
            func settle(_ kinds: [StreakKind]) async throws -> Int {
                try await SettlementJob(
                    kinds: kinds,
                    writer: writer,
                    work: world.work,
                    logger: PostgresServer.silence,
                    metrics: .init()
                ).settle(at: world.clock.now())
            }
            func row(_ id: StreakID) async throws -> StreakRow {
                try #require(try await writer.store.load([id]).first).row
            }
            let id = try await world.work.run(trace: "", requestID: "") { work in
                try await writer.start(.init(.checkIn, of: [user], key: "\(user)", freezes: 2), work)
            }
            for _ in 1...3 {
                try await command(.contribute(user, receivedAt: world.clock.now(), capturedAt: nil), id)
                world.clock.advance(by: .days(1))
            }
            // May 4 and 5 are missed: both freezes are spent, and the count grows.
            world.clock.set(moment("2026-05-06T00:02:00Z"))
            #expect(try await settle([.mutual]) == 0, "a replica without its feature leaves it alone")
            #expect(try await settle([.mutual, .checkIn]) == 1)
            #expect(try await row(id).count == 5)
            // A pause from May 6 until May 10 costs nothing.
            try await command(.pause(until: try #require(CalendarDate("2026-05-10"))), id)
            world.clock.set(moment("2026-05-10T09:00:00Z"))
            while try await settle([.checkIn]) > 0 {}
            #expect(try await row(id).status == .active)
            try await command(.contribute(user, receivedAt: world.clock.now(), capturedAt: nil), id)
            #expect(try await row(id).count == 6)
            // Without freezes and pause a missed date breaks the run, and the next check-in begins another.
            world.clock.set(moment("2026-05-12T00:02:00Z"))
            while try await settle([.checkIn]) > 0 {}
            let broken = try await row(id)
            #expect(broken.status == .broken && broken.longest == 6)
            try await command(.contribute(user, receivedAt: world.clock.now(), capturedAt: nil), id)
            let anew = try await row(id)
            #expect(anew.status == .active && anew.count == 1)
            await #expect(throws: DatabaseError.self, "one at a time") {
                try await world.work.run(trace: "", requestID: "") { work in
                    try await writer.start(.init(.checkIn, of: [user], key: "\(user)"), work)
                }
            }
            try await command(.end, id)
            let again = try await world.work.run(trace: "", requestID: "") { work in
                try await writer.start(.init(.checkIn, of: [user], key: "\(user)"), work)
            }
            #expect(again != id)
        }
    }
}
