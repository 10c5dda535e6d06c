import Bus
import Database
import Kernel
import TestSupport
import Testing

@testable import Runtime
@testable import ServiceRuntime

/// Steps of changes across services (D6): one operation, one effect, one answer.
@Suite(.timeLimit(.minutes(10)))
struct OperationTests {
    private static let ann = UserID(high: 1, low: 1)
    private static let ben = UserID(high: 1, low: 2)
    private static let operation = OperationID(high: 2, low: 1)
    private static let refusal = ServiceError(
        .failedPrecondition,
        "NO_MORE",
        "There is no more.",
        details: [.init(field: "text", message: "is too late")],
        retryAfter: 7
    )

    private func change(
        _ fixture: Fixture,
        _ text: String,
        operation: OperationID = operation,
        of user: UserID = ann
    ) async throws -> String {
        let context = CallContext(deadline: SystemClock.now() + .minutes(1), principal: Principal(role: .service))
        let once: Once<Note> = try await fixture.mutations.once(operation: operation, of: user, context, Note(text)) { work in
            let before = try await work.sql.query("SELECT 1 FROM effects").count
            if text == "kept", before == 0 { return .failure(Self.refusal) }
            if text == "thrown", before == 0 { throw Self.refusal }
            _ = try await work.sql.execute("INSERT INTO effects VALUES (\(text))")
            return .success(Note("reply \(before + 1)"))
        }
        return once.reply.text
    }

    private func effects(_ fixture: Fixture) async throws -> Int {
        try await fixture.database.query("SELECT 1 FROM effects").count
    }

    @Test func `an operation has one effect and one answer, however often and at once it comes`() async throws {
        try await withFixture { fixture in
            let replies = try await withThrowingTaskGroup(of: String.self) { tasks in
                for _ in 0..<32 { tasks.addTask { try await asking { try await change(fixture, "a") } } }
                return try await tasks.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(replies == ["reply 1"])
            #expect(try await change(fixture, "a", operation: OperationID(high: 2, low: 2)) == "reply 2")
            #expect(try await effects(fixture) == 2)
        }
    }

    @Test func `another request under the same operation is a conflict, also for another user`() async throws {
        try await withFixture { fixture in
            _ = try await change(fixture, "a")
            let other = await #expect(throws: ServiceError.self) { _ = try await change(fixture, "b") }
            #expect(other?.reason == "OPERATION_CONFLICT")
            #expect(try await effects(fixture) == 1)
        }
    }

    @Test func `a refusal that is an answer stays the answer, one that is thrown does not`() async throws {
        try await withFixture { fixture in
            let kept = OperationID(high: 2, low: 9)
            for _ in 0..<2 {
                let error = await #expect(throws: ServiceError.self) { _ = try await change(fixture, "kept", operation: kept) }
                #expect(error == Self.refusal, "with all that it says")
            }
            await #expect(throws: Self.refusal) { _ = try await change(fixture, "thrown") }
            _ = try await change(fixture, "a", operation: OperationID(high: 2, low: 3))
            #expect(try await change(fixture, "thrown") == "reply 2", "now it is allowed")
            await #expect(throws: Self.refusal) { _ = try await change(fixture, "kept", operation: kept) }
            #expect(try await effects(fixture) == 2)
        }
    }

    @Test func `an answer is kept for seven days of the clock, purged or not`() async throws {
        let clock = ManualClock(Instant(seconds: 1_800_000_000))
        try await withFixture(clock: clock) { fixture in
            _ = try await change(fixture, "a")
            clock.advance(by: .days(7) + Interval(microseconds: -1))
            try await fixture.mutations.purge(now: clock.now())
            #expect(try await change(fixture, "a") == "reply 1")
            clock.advance(by: Interval(microseconds: 1))
            #expect(try await change(fixture, "a") == "reply 2")
            clock.advance(by: .days(7))
            try await fixture.mutations.purge(now: clock.now())
            #expect(try await fixture.database.query("SELECT 1 FROM stored_reply").isEmpty)
        }
    }

    @Test func `what is about a user is deleted with the account, and nothing of others`() async throws {
        try await withFixture { fixture in
            _ = try await change(fixture, "a")
            _ = try await change(fixture, "b", operation: OperationID(high: 2, low: 2), of: Self.ben)
            let context = CallContext(principal: Principal(userID: Self.ann, role: .user), idempotencyKey: "k")
            _ = try await fixture.mutations.once(context, Note("c")) { _ in Note("d") }
            try await fixture.database.transaction { sql in try await Mutations.deleteReplies(to: Self.ann, sql) }
            let left = try await fixture.database.query("SELECT user_id FROM stored_reply")
            #expect(try left.map { try $0.decode(as: UserID.self) } == [Self.ben])
        }
    }
}
