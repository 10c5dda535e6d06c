import AuthAPI
import Bus
import Database
import Kernel
import MediaAPI
import Outbox
import SocialAPI
import StreaksAPI
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Runtime
@testable import ServiceRuntime
@testable import SocialService

/// The services that `social` asks, answering what a test wants.
final class Others: Caller {
    struct State {
        var people: [UserID: ProfileState] = [:]
        var snapOwners: [SnapID: UserID] = [:]
        var postOwners: [PostID: UserID] = [:]
        /// The friend has posted today; nil without a running streak.
        var friendHasPosted: Bool? = false
        /// What `streaks` answers every question about summaries with; nil for an answer.
        var streaksFailure: ServiceError?
        /// The deadlines of those questions.
        var deadlines: [Instant] = []
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
                GetSummariesReply(
                    profiles: state.people.values.filter {
                        request.userIDs.contains($0.userID) || request.usernames.contains($0.username)
                    }
                )
            case is StartForFriendshipRequest: StartForFriendshipReply(streakID: StreakID(high: 9, low: 9))
            case let request as GetFriendSummariesRequest: try Self.summaries(request, context, &state)
            case let request as FindSnapOwnerRequest: FindSnapOwnerReply(userID: state.snapOwners[request.snapID])
            case let request as FindPostOwnerRequest: FindPostOwnerReply(userID: state.postOwners[request.postID])
            case let request as ListReportedPostsRequest:
                ListReportedPostsReply(
                    posts: request.postIDs.filter { state.postOwners[$0] != nil }.map {
                        Post(id: $0, thumbnailURL: "/thumb/\($0)")
                    }
                )
            default: throw ServiceError.internal
            }
        }
        guard let reply = reply as? Reply else { throw ServiceError.internal }
        return reply
    }

    private static func summaries(_ request: GetFriendSummariesRequest, _ context: CallContext, _ state: inout State) throws
        -> GetFriendSummariesReply
    {
        state.deadlines.append(context.deadline)
        if let failure = state.streaksFailure { throw failure }
        guard let posted = state.friendHasPosted else { return GetFriendSummariesReply() }
        return GetFriendSummariesReply(
            summaries: request.friendIDs.map {
                FriendSummary(
                    friendID: $0,
                    streakID: StreakID(high: 9, low: 9),
                    friendPostedToday: posted,
                    deadlineAt: Instant(seconds: 2_000_000_000)
                )
            }
        )
    }
}

/// `social` on a database of its own.
struct World {
    let database: Database
    let service: Service
    let others: Others
    let clock: ManualClock

    /// A user whom `auth` knows.
    func person(_ number: UInt64, username: String? = nil, name: String = "A User", status: AccountStatus = .active) -> UserID {
        let id = UserID(high: 1, low: number)
        others.state.withLock {
            $0.people[id] = ProfileState(
                userID: id,
                version: 1,
                username: username ?? "person\(number)",
                displayName: name,
                timeZone: "UTC",
                status: status
            )
        }
        return id
    }

    static func by(_ user: UserID, role: Principal.Role = .user) -> CallContext {
        CallContext(deadline: SystemClock.now() + .minutes(2), principal: Principal(userID: user, role: role))
    }

    /// Names of the events emitted since the last call, in order.
    func events() async throws -> [String] {
        try await database.query(
            "WITH emitted AS (DELETE FROM outbox RETURNING position, subject) SELECT subject FROM emitted ORDER BY position"
        )
        .map { String(try $0.decode(as: String.self).split(separator: ".").last ?? "") }
    }

    func request(_ from: UserID, _ to: UserID) async throws -> FriendshipReply {
        try await service.sendFriendRequest(
            SendFriendRequestRequest(target: .userID(to)),
            context: Self.by(from)
        )
    }

    func respond(_ user: UserID, _ friendship: FriendshipID, _ action: FriendRequestAction) async throws -> FriendshipReply {
        try await service.respondToFriendRequest(
            RespondToFriendRequestRequest(friendshipID: friendship, action: action),
            context: Self.by(user)
        )
    }

    func remove(_ user: UserID, _ friendship: FriendshipID) async throws -> RemoveFriendReply {
        try await service.removeFriend(RemoveFriendRequest(friendshipID: friendship), context: Self.by(user))
    }

    func block(_ user: UserID, _ other: UserID) async throws -> Block {
        try await service.blockUser(BlockUserRequest(userID: other), context: Self.by(user))
    }

    func search(_ user: UserID, _ q: String) async throws -> [String] {
        try await service.searchUsers(SearchUsersRequest(q: q), context: Self.by(user)).users.compactMap { $0.user?.username }
    }

    /// Two friends. - Returns: the friendship's id.
    @discardableResult
    func befriend(_ one: UserID, _ two: UserID) async throws -> FriendshipID {
        let asked = try await request(one, two)
        _ = try await respond(two, asked.friendshipID, .accept)
        _ = try await events()
        return asked.friendshipID
    }

    /// The state of the pair's row.
    func state(_ one: UserID, _ two: UserID) async throws -> FriendshipStatus {
        FriendshipStatus(rawValue: try await service.friendships.find(one, two, database)?.friendship.state.rawValue ?? 0)
    }
}

private let template = PostgresTemplate("social") { database in
    for set in [MigrationSet("outbox", OutboxMigrations.all), MigrationSet("runtime", RuntimeMigrations.all)]
        + SocialModule.migrations
    {
        try await Migrator(scope: set.scope, migrations: set.migrations).run(on: database)
    }
}

nonisolated(nonsending) func withWorld(_ body: (World) async throws -> Void) async throws {
    let bus = try await BusConnection.connect(BusConfiguration(url: NatsServer.account()), logger: PostgresServer.silence)
    try await template.withDatabase(poolSize: 8, adjust: PostgresServer.patient) { database in
        let clock = ManualClock(Instant(seconds: 1_700_000_000))
        let ids = UUIDv7Source(clock: SystemClock())
        let relay = OutboxRelay(
            database: database,
            jetStream: JetStream(connection: bus),
            bus: bus,
            service: "social",
            ids: ids,
            logger: PostgresServer.silence
        )
        let others = Others()
        let mutations = Mutations(
            work: UnitOfWorkFactory(database: database, clock: clock, ids: ids, relay: relay),
            database: database
        )
        let service = Service(database: database, bus: others, mutations: mutations)
        try await body(World(database: database, service: service, others: others, clock: clock))
    }
    await bus.close()
}

/// What each of many at once came to: the reasons of refusals, and `OK`.
func atOnce(_ count: Int, _ body: @escaping @Sendable (Int) async throws -> Void) async throws -> [String: Int] {
    var outcomes: [String: Int] = [:]
    for result in await simultaneously(count, body) {
        do {
            try result.get()
            outcomes["OK", default: 0] += 1
        } catch let error as ServiceError { outcomes[error.reason, default: 0] += 1 }
    }
    return outcomes
}
