internal import Database
internal import Kernel
internal import SocialAPI
internal import SocialDomain

/// Links of invites: the page, or the app where it is installed.
struct InviteLinks: Sendable {
    private let base: String

    /// - Parameter base: the public address; empty for relative links.
    init(base: String) { self.base = base.hasSuffix("/") ? String(base.dropLast()) : base }

    func link(_ code: String) -> String { "\(base)/c/\(code)" }
}

/// Circles and invites as their members see them.
struct CircleViews: Sendable {
    let invites: InviteRepository
    let links: InviteLinks

    /// A circle for one of its members; with its newest valid invite for those who may invite.
    ///
    /// - Throws: `NOT_FOUND` for users who are not in it.
    func circle(_ circle: StoredCircle, of user: UserID, at now: Instant, _ sql: some QueryExecutor) async throws -> Circle {
        let reader = try circle.members.require(.read, of: user)
        let invite = reader.role.may(.invite) ? try await invites.valid(of: circle.id, at: now, sql).first : nil
        var view = Circle(circle, role: reader.role, joinedAt: reader.joinedAt, count: Int32(circle.members.all.count))
        view.invite = invite.map { self.invite($0) }
        return view
    }

    func invite(_ stored: StoredInvite) -> Invite {
        Invite(
            inviteID: stored.id,
            code: stored.invite.code,
            link: links.link(stored.invite.code),
            uses: stored.invite.uses,
            maxUses: stored.invite.maxUses,
            createdAt: stored.createdAt,
            expiresAt: stored.invite.expiresAt
        )
    }
}

extension Circle {
    init(_ circle: StoredCircle, role: CircleMembers.Role, joinedAt: Instant, count: Int32) {
        self.init(
            circleID: circle.id,
            name: circle.name,
            description: circle.description,
            memberCount: count,
            memberLimit: Int32(CircleMembers.limit),
            yourRole: CircleRole(rawValue: role.rawValue),
            joinedAt: joinedAt,
            createdAt: circle.createdAt
        )
    }
}
