import AuthAPI
import Bus
import Database
import Kernel
import Outbox
import Replicas
import SocialAPI
import StreaksAPI
import StreaksDomain
import Synchronization
import TestSupport
import Testing
import Wire

@testable import ServiceRuntime
@testable import StreaksCore
@testable import StreaksService
@testable import StreaksTeams

/// `social`, which answers with the circles that a test has made and the events of which may be on their way.
final class CircleSource: Caller {
    let circles = Mutex<[CircleID: CircleState]>([:])

    func call<Request: Message, Reply: Message>(_: Method<Request, Reply>, _ request: Request, context _: CallContext)
        async throws
        -> Reply
    {
        guard let request = request as? ListCircleSnapshotsRequest else { throw ServiceError.unavailable() }
        let found = circles.withLock { circles in
            circles.values.sorted { $0.circleID < $1.circleID }.filter { circle in
                request.circleID.map { $0 == circle.circleID } ?? (request.after.map { $0 < circle.circleID } ?? true)
            }
        }
        guard let reply = ListCircleSnapshotsReply(circles: found) as? Reply else { throw ServiceError.internal }
        return reply
    }
}

/// Teams in a world of `streaks`.
struct Teams: Sendable {
    let world: World
    let source = CircleSource()
    let core: StreaksCore

    init(_ world: World) {
        self.world = world
        core = StreaksCore(
            database: world.database,
            bus: source,
            avatars: AvatarLinks(),
            work: world.work,
            StreaksModule.extensions
        )
    }

    private var checkIns: TeamCheckIns { TeamCheckIns(writer: core.writer, circles: core.circles) }
    static func circle(_ number: UInt64) -> CircleID { CircleID(high: 7, low: number) }

    /// A state of a circle; what `social` knows from then on.
    @discardableResult
    func set(
        _ id: CircleID,
        _ version: Int64,
        _ members: [UserID],
        joinedAt: Instant? = nil,
        changedAt: Instant? = nil,
        deleted: Bool = false,
        tell: Bool = true
    ) async throws -> CircleState {
        let state = CircleState(
            circleID: id,
            version: version,
            name: deleted ? "" : "Runners",
            deleted: deleted,
            members: members.enumerated().map { index, user in
                CircleStateMember(
                    userID: user,
                    role: index == 0 ? .owner : .member,
                    joinedAt: (joinedAt ?? world.clock.now()) + .seconds(Int64(index))
                )
            },
            changedAt: changedAt ?? world.clock.now()
        )
        source.circles.withLock { $0[id] = state }
        if tell {
            try await world.consume(
                CircleChanged(circleID: id, circle: state, change: .updated),
                by: [core.circles.handler]
            )
        }
        return state
    }

    @discardableResult
    func checkIn(_ user: UserID, _ circle: CircleID, at time: Instant? = nil) async throws -> CircleCheckInReply {
        try await CheckInToCircle(circles: core.circles, checkIns: checkIns, mutations: world.mutations)
            .handle(CheckInToCircleRequest(circleID: circle, mood: 8, checkInTime: time), World.by(user)).reply
    }

    /// What the member's own check-in emits.
    /// - Parameter at: when it was received; nil: now.
    func ownCheckIn(_ user: UserID, _ date: String, count: Int32 = 5, at: String? = nil) async throws {
        try await world.consume(
            SoloStreakExtended(
                streakID: StreakID(high: 8, low: user.low),
                userID: user,
                kind: .checkIn,
                date: day(date),
                count: count,
                longest: count,
                runStart: day("2026-05-01"),
                via: .contribution,
                at: at.map(moment) ?? world.clock.now()
            ),
            by: CheckInConsumers(checkIns: checkIns).handlers
        )
    }

    func streak(_ user: UserID, _ circle: CircleID) async throws -> TeamStreak {
        try await GetTeamStreak(
            circles: core.circles,
            views: TeamViews(core: core, work: world.work, clock: world.clock)
        ).handle(GetTeamStreakRequest(circleID: circle), World.by(user))
    }

    func feed(_ user: UserID, _ circle: CircleID, limit: Int32 = 0, cursor: String = "") async throws -> ListCircleFeedReply {
        try await ListCircleFeed(
            circles: core.circles,
            feed: FeedRepository(database: world.database),
            profiles: core.profiles
        ).handle(ListCircleFeedRequest(circleID: circle, limit: limit, cursor: cursor), World.by(user))
    }

    /// Runs the jobs until nothing is due.
    func settle() async throws {
        let settlement = SettlementJob(
            kinds: [.team],
            writer: core.writer,
            work: world.work,
            logger: testLogger,
            metrics: .init()
        )
        for job in [settlement.job, TeamReminderJob(work: world.work, store: core.store).job] {
            while try await job.run(world.clock.now()) > 0 {}
        }
    }

    func reach(_ time: String) async throws {
        world.clock.set(moment(time))
        try await settle()
    }
}
