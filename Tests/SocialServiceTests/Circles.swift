import AuthAPI
import Bus
import Database
import Kernel
import Outbox
import SocialAPI
import SocialDomain

@testable import ServiceRuntime
@testable import SocialCircles
@testable import SocialCore
@testable import SocialService

/// The handlers of circles in a world of `social`.
struct Circles: Sendable {
    let world: World
    let changes: CircleChanges
    let views: CircleViews

    init(_ world: World) {
        self.world = world
        changes = CircleChanges(world.service.core)
        views = CircleViews(
            invites: InviteRepository(database: world.database),
            links: InviteLinks(base: "https://streaksnap.example/")
        )
    }

    private var mutations: Mutations { world.service.mutations }

    func create(_ owner: UserID, _ name: String = "Runners") async throws -> Circle {
        try await CreateCircle(changes: changes, views: views, mutations: mutations)
            .handle(CreateCircleRequest(name: name, description: "Early."), World.by(owner)).reply
    }

    @discardableResult
    func join(_ user: UserID, _ code: String) async throws -> Circle {
        try await JoinCircle(changes: changes, views: views, mutations: mutations)
            .handle(JoinCircleRequest(code: code), World.by(user)).reply
    }

    func leave(_ user: UserID, _ id: CircleID) async throws -> LeaveCircleReply {
        try await LeaveCircle(changes: changes, mutations: mutations).handle(LeaveCircleRequest(circleID: id), World.by(user))
            .reply
    }

    func remove(_ other: UserID, by user: UserID, _ id: CircleID) async throws {
        _ = try await RemoveMember(changes: changes, invites: views.invites, mutations: mutations)
            .handle(RemoveMemberRequest(circleID: id, userID: other), World.by(user))
    }

    func setRole(_ role: CircleRole, of other: UserID, by user: UserID, _ id: CircleID) async throws {
        _ = try await SetMemberRole(changes: changes, mutations: mutations)
            .handle(SetMemberRoleRequest(circleID: id, userID: other, role: role), World.by(user))
    }

    func transfer(to other: UserID, by user: UserID, _ id: CircleID) async throws -> Circle {
        try await TransferOwnership(changes: changes, views: views, mutations: mutations)
            .handle(TransferOwnershipRequest(circleID: id, userID: other), World.by(user)).reply
    }

    func update(_ id: CircleID, by user: UserID, name: String? = nil, description: String? = nil) async throws -> Circle {
        try await UpdateCircle(changes: changes, views: views, mutations: mutations)
            .handle(UpdateCircleRequest(circleID: id, name: name, description: description), World.by(user)).reply
    }

    func delete(_ id: CircleID, by user: UserID) async throws {
        _ = try await DeleteCircle(changes: changes, mutations: mutations).handle(
            DeleteCircleRequest(circleID: id),
            World.by(user)
        )
    }

    func get(_ id: CircleID, _ user: UserID) async throws -> Circle {
        try await GetCircle(circles: changes.circles, views: views, clock: world.clock)
            .handle(GetCircleRequest(circleID: id), World.by(user))
    }

    func list(_ user: UserID, limit: Int32 = 0, cursor: String = "") async throws -> ListCirclesReply {
        try await ListCircles(circles: changes.circles).handle(ListCirclesRequest(limit: limit, cursor: cursor), World.by(user))
    }

    func members(_ id: CircleID, _ user: UserID, limit: Int32 = 0, cursor: String = "") async throws -> ListMembersReply {
        try await ListMembers(circles: changes.circles, profiles: world.service.core.profiles)
            .handle(ListMembersRequest(circleID: id, limit: limit, cursor: cursor), World.by(user))
    }

    func invite(
        _ id: CircleID,
        by user: UserID,
        uses: Int32? = nil,
        hours: Int32? = nil,
        replace: Bool = false,
        to friends: [UserID] = []
    )
        async throws -> Invite
    {
        try await CreateInvite(
            circles: changes.circles,
            friendships: world.service.core.friendships,
            views: views,
            mutations: mutations
        )
        .handle(
            CreateInviteRequest(circleID: id, maxUses: uses, validHours: hours, replace: replace, friendIDs: friends),
            World.by(user)
        ).reply
    }

    func invites(_ id: CircleID, _ user: UserID) async throws -> [Invite] {
        try await ListInvites(circles: changes.circles, views: views, clock: world.clock)
            .handle(ListInvitesRequest(circleID: id), World.by(user)).invites
    }

    func revoke(_ id: CircleID, by user: UserID, _ invite: CircleInviteID? = nil) async throws -> Int32 {
        try await RevokeInvites(circles: changes.circles, invites: views.invites, mutations: mutations)
            .handle(RevokeInvitesRequest(circleID: id, inviteID: invite), World.by(user)).reply.revoked
    }

    func preview(_ code: String, _ user: UserID) async throws -> InvitePreview {
        try await PreviewInvite(circles: changes.circles, views: views, clock: world.clock)
            .handle(PreviewInviteRequest(code: code), World.by(user))
    }

    func page(_ code: String, _ language: String? = nil) async throws -> InvitePage {
        try await GetInvitePage(circles: changes.circles, invites: views.invites, clock: world.clock)
            .handle(GetInvitePageRequest(code: code, lang: language), CallContext(deadline: SystemClock.now() + .minutes(1)))
    }

    func snapshot() async throws -> [CircleState] {
        try await ListCircleSnapshots(circles: changes.circles)
            .handle(ListCircleSnapshotsRequest(limit: 500), CallContext(deadline: SystemClock.now() + .minutes(1))).circles
    }

    /// What the end of an account does.
    func goneForGood(_ user: UserID) async throws {
        try await mutations.work.run(trace: "", requestID: "") { work in _ = try await changes.leaveAll(user, work) }
    }

    /// The events of circles emitted since the last call.
    func events() async throws -> [CircleChanged] {
        try await world.database.query(
            """
            WITH emitted AS (DELETE FROM outbox WHERE subject = \(CircleChanged.subject) RETURNING position, body)
            SELECT body FROM emitted ORDER BY position
            """
        ).map { try CircleChanged(serialized: try $0.decode(as: [UInt8].self)) }
    }
}

/// The reason of a refusal; `OK` when there was none.
func reason(_ body: () async throws -> Void) async throws -> String {
    do { try await body() } catch let error as ServiceError { return error.reason }
    return "OK"
}
