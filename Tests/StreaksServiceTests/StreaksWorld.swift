import AuthAPI
import Bus
import Database
import Kernel
import MediaAPI
import Outbox
import Replicas
import StreaksAPI
import StreaksDomain
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Runtime
@testable import ServiceRuntime
@testable import StreaksCore
@testable import StreaksService

/// The services that `streaks` asks, answering what a test wants.
final class AskedServices: Caller {
    struct State {
        /// What `media` says of today's snaps; nil: it is away.
        var snaps: GetStreakSnapsReply? = GetStreakSnapsReply()
        /// What it was asked, and how long it was given.
        var asked: [(request: GetStreakSnapsRequest, timeout: Interval)] = []
    }

    let state = Mutex(State())

    func call<Request: Message, Reply: Message>(
        _ method: Method<Request, Reply>,
        _ request: Request,
        context: CallContext
    ) async throws -> Reply {
        let reply: any Message = try state.withLock { state in
            switch request {
            case let request as GetSummariesRequest:
                return GetSummariesReply(
                    profiles: request.userIDs.map {
                        ProfileState(
                            userID: $0,
                            version: 1,
                            username: Self.name($0.description),
                            displayName: "User",
                            timeZone: "UTC",
                            status: .active
                        )
                    }
                )
            case let request as GetStreakSnapsRequest:
                state.asked.append((request, context.remaining))
                guard let snaps = state.snaps else { throw ServiceError.unavailable("media is away.") }
                return snaps
            default: throw ServiceError.internal
            }
        }
        guard let reply = reply as? Reply else { throw ServiceError.internal }
        return reply
    }

    static func name(_ id: String) -> String { "person.\(id.suffix(4))" }
}

/// `streaks` on a schema of its own, all clocks on UTC.
struct StreaksWorld {
    let database: Database
    let service: AllStreaks
    let work: UnitOfWorkFactory
    let others: AskedServices
    let clock: ManualClock

    static func person(_ number: UInt64) -> UserID { UserID(high: 1, low: number) }

    static func by(_ user: UserID) -> CallContext {
        CallContext(deadline: SystemClock.now() + .minutes(2), principal: Principal(userID: user, role: .user))
    }

    /// A new streak of two.
    func start(_ one: UserID, _ two: UserID) async throws -> StreakID {
        let ids = UUIDv7Source(clock: SystemClock())
        let friendship: FriendshipID = ids.make()
        let reply = try await service.startForFriendship(
            StartForFriendshipRequest(friendshipID: friendship, userAID: one, userBID: two),
            context: Self.by(one)
        )
        return try #require(reply.streakID, "\(reply)")
    }

    /// A snap received now. - Returns: the reasons of refusals.
    @discardableResult
    func post(_ user: UserID, to streaks: [StreakID], operation: OperationID? = nil) async throws -> [String] {
        let id: OperationID = operation ?? UUIDv7Source(clock: SystemClock()).make()
        let reply = try await service.recordContribution(
            RecordContributionRequest(
                operationID: id,
                userID: user,
                streakIDs: streaks,
                receivedAt: clock.now()
            ),
            context: Self.by(user)
        )
        return reply.outcomes.compactMap(\.refused)
    }

    /// The achievements emitted since the last call, in order, as `<last digit of the user> <achievement>`.
    func emitted() async throws -> [String] {
        try await database.query(
            "WITH emitted AS (DELETE FROM outbox RETURNING position, subject, body) SELECT subject, body FROM emitted ORDER BY position"
        ).compactMap { row in
            let (subject, body) = try row.decode(as: (String.self, [UInt8].self))
            guard subject == AchievementEarned.subject else { return nil }
            let event = try AchievementEarned(serialized: body)
            return "\(event.userID.description.suffix(1)) \(event.achievement)"
        }
    }

    /// What a user has earned, in the order shown.
    func earned(_ user: UserID) async throws -> [String] {
        try await achievements(user).filter(\.earned).map(\.id)
    }

    func achievements(_ user: UserID) async throws -> [StreaksAPI.Achievement] {
        try await service.getAchievements(GetAchievementsRequest(), context: Self.by(user)).achievements
    }

    /// Both have posted on each of these many dates that end yesterday; the streak is as old and has not been settled since.
    func fill(_ streak: StreakID, _ one: UserID, _ two: UserID, days: Int, upTo date: CalendarDate) async throws {
        let dates = (1...days).map { date.advanced(by: -$0) }
        let start = clock.now() - .days(Int64(days))
        try await database.execute(
            """
            INSERT INTO contribution (streak_id, user_id, on_date, received_at, recorded_at, operation_id)
            SELECT \(streak), person, on_date, on_date + interval '12 hours', on_date + interval '12 hours', gen_random_uuid()
            FROM unnest(\(dates)) AS on_date, unnest(\([one, two])) AS person
            """
        )
        try await database.execute("UPDATE streak SET started_at = \(start), settled_at = \(clock.now()) WHERE id = \(streak)")
    }
}

nonisolated(nonsending) func withStreaks(_ body: (StreaksWorld) async throws -> Void) async throws {
    try await template.withDatabase(poolSize: 4, adjust: PostgresServer.patient) { database in
        // Inside the window of users of whom nothing is known (PW-2).
        let clock = ManualClock(moment("2026-05-01T11:00:00Z"))
        let others = AskedServices()
        let work = UnitOfWorkFactory(database: database, clock: clock, ids: UUIDv7Source(clock: SystemClock()), relay: nil)
        let service = AllStreaks(
            database: database,
            bus: others,
            mutations: Mutations(work: work, database: database),
            clock: clock,
            logger: testLogger
        )
        try await body(StreaksWorld(database: database, service: service, work: work, others: others, clock: clock))
    }
}
