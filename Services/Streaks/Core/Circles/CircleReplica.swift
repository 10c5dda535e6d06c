package import Bus
package import Database
package import Kernel
package import Outbox
package import ServiceRuntime
package import SocialAPI

/// A circle as this service knows it.
package struct ReplicatedCircle: Hashable, Sendable {
    package let id: CircleID
    package let version: Int64
    /// Empty when deleted.
    package let name: String
    package let isDeleted: Bool
    /// In the order of joining.
    package let members: [Member]
    /// When it became this; nil where that is not kept.
    package var changedAt: Instant?

    package init(id: CircleID, version: Int64, name: String, isDeleted: Bool, members: [Member], changedAt: Instant? = nil) {
        (self.id, self.version, self.name, self.isDeleted, self.members) = (id, version, name, isDeleted, members)
        self.changedAt = changedAt
    }

    /// Who is in a circle, and since when.
    package struct Member: Hashable, Sendable {
        package let user: UserID
        package let role: CircleRole
        package let joinedAt: Instant

        package init(user: UserID, role: CircleRole, joinedAt: Instant) {
            (self.user, self.role, self.joinedAt) = (user, role, joinedAt)
        }
    }
}

/// What a feature does in the transaction that stores a new state of a circle, whether it came as an event, in the snapshot, or because it was
/// asked for. `StreakExtensions` holds them; they are the same in every replica, whichever features it runs.
package protocol CircleFollower: Sendable {
    /// Follows a state that is newer than what was known. The circle's row is locked; lock streaks after it.
    ///
    /// - Parameter writer: changes streaks.
    func circleChanged(_ circle: ReplicatedCircle, _ writer: StreakWriter, _ work: UnitOfWork) async throws
}

/// Which circles there are, and who is in them since when (SO-10), in the schema of `streaks`: fed by `CircleChanged`, complete from a
/// snapshot (D13).
package struct CircleReplica: Sendable {
    private let writer: StreakWriter
    private let social: CirclesClient
    private let work: UnitOfWorkFactory?
    private let followers: [any CircleFollower]
    private var database: Database { writer.store.database }

    /// - Parameters:
    ///   - bus: to ask `social` for circles.
    ///   - work: what stores circles that were asked for; nil where none are.
    package init(writer: StreakWriter, bus: any Caller, work: UnitOfWorkFactory?, _ extensions: StreakExtensions) {
        (self.writer, self.work, followers) = (writer, work, extensions.circleFollowers)
        social = CirclesClient(bus)
    }

    /// Takes up every change of a circle. An older version never overwrites a newer one.
    package var handler: EventHandler {
        EventHandler(CircleChanged.self) { event, work in
            if let state = event.circle { _ = try await store(state, work) }
        }
    }

    /// Stores a state and lets the features follow it.
    ///
    /// - Returns: whether it was news.
    package func store(_ state: CircleState, _ work: UnitOfWork) async throws -> Bool {
        let circle = ReplicatedCircle(state)
        guard try await CircleRepository.store(circle, work.sql) else { return false }
        for follower in followers { try await follower.circleChanged(circle, writer, work) }
        return true
    }

    /// A circle with its members; nil when there is none.
    package func circle(_ id: CircleID, _ sql: (any QueryExecutor)? = nil) async throws -> ReplicatedCircle? {
        try await CircleRepository.find([id], sql ?? database).first.flatMap { $0.isDeleted ? nil : $0 }
    }

    /// The circles that users are in, in the order of their ids; users in no circle are absent.
    package func circles(of users: [UserID], _ sql: some QueryExecutor) async throws -> [UserID: [CircleID]] {
        try await CircleRepository.ids(of: users, sql)
    }

    /// A circle that a user is in. One who has just joined is not refused: `social` is asked when this service does not know of it yet.
    ///
    /// - Throws: `NOT_FOUND` for users who are not in it.
    package func circle(_ id: CircleID, of user: UserID, _ context: CallContext) async throws -> ReplicatedCircle {
        func known() async throws -> ReplicatedCircle? {
            try await circle(id).flatMap { $0.members.contains { $0.user == user } ? $0 : nil }
        }
        if let circle = try await known() { return circle }
        guard let work else { throw ServiceError.notFound("circle") }
        let asked = try await social.listCircleSnapshots(ListCircleSnapshotsRequest(limit: 1, circleID: id), context: context)
        guard let state = asked.circles.first, state.members.contains(where: { $0.userID == user }) else {
            throw ServiceError.notFound("circle")
        }
        _ = try await work.run(context) { work in try await store(state, work) }
        guard let circle = try await known() else { throw ServiceError.notFound("circle") }
        return circle
    }

    /// Fetches every circle from `social` unless that was done before; for a job of the service. Safe to repeat.
    package func loadSnapshotOnce(context: CallContext) async throws {
        guard let work, try await !CircleRepository.isLoaded(database) else { return }
        var after: CircleID?
        while true {
            let page = try await social.listCircleSnapshots(
                ListCircleSnapshotsRequest(after: after, limit: 100),
                context: context
            )
            guard let last = page.circles.last else { break }
            // One at a time: each locks the streak of its circle.
            for state in page.circles { _ = try await work.run(context) { work in try await store(state, work) } }
            after = last.circleID
        }
        try await CircleRepository.noteLoaded(database)
    }

    /// Fetches the circles of before the first event, once for each schema.
    package var snapshotJob: Job {
        Job("circle_snapshot", every: .seconds(60)) { _ in
            try await loadSnapshotOnce(context: .expiring(in: .minutes(10)))
            return 0
        }
    }
}

extension ReplicatedCircle {
    /// What an event or a snapshot says.
    package init(_ state: CircleState) {
        self.init(
            id: state.circleID,
            version: state.version,
            name: state.deleted ? "" : state.name,
            isDeleted: state.deleted,
            members: state.deleted
                ? [] : state.members.map { Member(user: $0.userID, role: $0.role, joinedAt: $0.joinedAt ?? .epoch) },
            changedAt: state.changedAt
        )
    }
}
