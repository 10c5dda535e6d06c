internal import Database
internal import Kernel
internal import Outbox
internal import Replicas
internal import SocialAPI
internal import SocialCore
internal import SocialDomain

/// The one way a circle changes: its row is locked, the new state is stored and emitted in the same transaction.
struct CircleChanges: Sendable {
    let circles: CircleRepository
    private let profiles: ProfileReplica
    private let blocks: BlockRepository

    init(_ core: SocialCore) {
        circles = CircleRepository(database: core.database)
        profiles = core.profiles
        blocks = core.blocks
    }

    /// What happened to a circle, for the event.
    struct Note: Sendable {
        let change: CircleChange
        /// Whom it is about.
        var user: UserID?
        /// Who did it.
        var actor: UserID?

        init(_ change: CircleChange, user: UserID? = nil, by actor: UserID?) {
            (self.change, self.user, self.actor) = (change, user, actor)
        }
    }

    /// Stores a new circle.
    func create(_ circle: StoredCircle, by owner: UserID, _ work: UnitOfWork) async throws {
        try await circles.insert(circle, work.sql)
        try await emit(circle, Note(.created, user: owner, by: owner), work)
    }

    /// One more circle for a user, whose circles are locked by it.
    ///
    /// - Throws: `TOO_MANY_CIRCLES`; `RATE_LIMITED` for who makes and joins too many in a day.
    func requireRoom(for user: UserID, _ work: UnitOfWork) async throws {
        try await circles.lockUser(user, work.sql)
        guard try await circles.count(of: user, work.sql) < CircleMembers.circlesLimit else {
            throw ServiceError(
                .failedPrecondition,
                "TOO_MANY_CIRCLES",
                "You are in \(CircleMembers.circlesLimit) circles already."
            )
        }
        // A circle that was deleted, and a stay that has ended, keep their rows.
        let today = Zone.utc.date(at: work.now)
        guard try await circles.enter(user, on: today, work.sql) <= CircleMembers.dailyEntries else {
            throw ServiceError(
                .resourceExhausted,
                "RATE_LIMITED",
                "You have made or joined \(CircleMembers.dailyEntries) circles today.",
                retryAfter: max(1, Int((Zone.utc.end(of: today) - work.now).seconds) + 1)
            )
        }
    }

    /// Whether a user's account is not shut, as far as this service knows.
    func isAvailable(_ user: UserID, _ sql: Transaction) async throws -> Bool {
        try await profiles.knownHere([user], sql)[user]?.isVisible ?? true
    }

    /// A user as the actor may know of them. One who blocks the actor is a stranger, whom no circle has: the actor is answered as of any
    /// other user who is not in it (SO-7).
    func known(_ user: UserID, to actor: UserID, _ work: UnitOfWork) async throws -> UserID {
        try await blocks.blockers(of: actor, among: [user], work.sql).isEmpty ? user : work.ids.make()
    }

    /// Changes a circle.
    ///
    /// - Parameter body: the change; it returns nil when nothing is another.
    /// - Returns: the circle after it.
    /// - Throws: `NOT_FOUND`, and whatever `body` throws.
    func change(_ id: CircleID, _ work: UnitOfWork, _ body: (inout StoredCircle) throws -> Note?) async throws -> StoredCircle {
        guard let before = try await circles.lock(id, work.sql) else { throw ServiceError.notFound("circle") }
        return try await change(before, work, body)
    }

    /// Changes a circle that is locked.
    func change(_ before: StoredCircle, _ work: UnitOfWork, _ body: (inout StoredCircle) throws -> Note?) async throws
        -> StoredCircle
    {
        var circle = before
        guard let note = try body(&circle) else { return circle }
        circle.version += 1
        circle.changedAt = max(work.now, before.changedAt)
        if circle.isDeleted || circle.members.all.isEmpty { circle.delete() }
        try await circles.save(circle, before: before.members, work.sql)
        try await emit(circle, note, work)
        return circle
    }

    /// A member leaves, or is gone. - Returns: the circle after it.
    func leave(_ id: CircleID, _ user: UserID, by actor: UserID?, _ work: UnitOfWork) async throws -> StoredCircle {
        guard let before = try await circles.lock(id, work.sql) else { throw ServiceError.notFound("circle") }
        let known = try await profiles.knownHere(Set(before.members.all.map(\.user)), work.sql)
        let unavailable = Set(known.filter { !$0.value.isVisible }.map(\.key))
        return try await change(before, work) { circle in
            _ = try circle.members.leave(user, unavailable: unavailable)
            return Note(.memberLeft, user: user, by: actor)
        }
    }

    /// A user whose account is gone leaves every circle; ownership passes on. - Returns: how many they left.
    @discardableResult
    func leaveAll(_ user: UserID, _ work: UnitOfWork) async throws -> Int {
        try await circles.lockUser(user, work.sql)
        var left = 0
        for id in try await circles.ids(of: user, work.sql) {
            // Removed by another request since it was read.
            do {
                _ = try await leave(id, user, by: nil, work)
                left += 1
            } catch let error as ServiceError where error.code == .notFound {}
        }
        return left
    }

    private func emit(_ circle: StoredCircle, _ note: Note, _ work: UnitOfWork) async throws {
        try await work.emit(
            CircleChanged(
                circleID: circle.id,
                circle: circle.state,
                change: note.change,
                userID: note.user,
                actorID: note.actor
            )
        )
    }
}

extension StoredCircle {
    /// The state other services keep (D13).
    var state: CircleState {
        CircleState(
            circleID: id,
            version: version,
            name: name,
            description: description,
            deleted: isDeleted,
            members: members.all.map {
                CircleStateMember(userID: $0.user, role: CircleRole(rawValue: $0.role.rawValue), joinedAt: $0.joinedAt)
            },
            createdAt: createdAt,
            changedAt: changedAt
        )
    }

    /// Nothing of it stays but that it was.
    mutating func delete() { (isDeleted, name, description, members) = (true, "", nil, CircleMembers([])) }
}
