public import Kernel

/// Who is in a circle, with which rights (SO-10): a state machine of its members. It has exactly one owner while it has members.
public struct CircleMembers: Hashable, Sendable {
    /// Most members of a circle.
    public static let limit = 50
    /// Most circles that one person is in.
    public static let circlesLimit = 20
    /// Most circles that one person makes or joins on a date, by UTC.
    public static let dailyEntries = 100

    /// The raw values are those of the proto and of SQL.
    public enum Role: Int32, Hashable, Sendable, CaseIterable {
        case owner = 1
        case admin = 2
        case member = 3

        /// Whether this role may do something, whichever member it concerns.
        public func may(_ right: Right) -> Bool {
            switch right {
            case .read, .leave: true
            case .rename, .invite, .removeMembers: self != .member
            case .removeAdmins, .changeRoles, .transfer, .delete: self == .owner
            }
        }
    }

    /// What members of a circle can be allowed.
    public enum Right: Hashable, Sendable, CaseIterable {
        case read
        case leave
        case rename
        case invite
        case removeMembers
        case removeAdmins
        case changeRoles
        case transfer
        case delete
    }

    /// One member.
    public struct Member: Hashable, Sendable {
        public let user: UserID
        public var role: Role
        public let joinedAt: Instant

        public init(user: UserID, role: Role, joinedAt: Instant) {
            (self.user, self.role, self.joinedAt) = (user, role, joinedAt)
        }
    }

    /// In the order of joining.
    public private(set) var all: [Member]

    /// Members as stored, in any order.
    public init(_ members: [Member]) {
        all = members.sorted { ($0.joinedAt, $0.user) < ($1.joinedAt, $1.user) }
    }

    /// Those of a new circle.
    public init(owner: UserID, now: Instant) { all = [Member(user: owner, role: .owner, joinedAt: now)] }

    /// The member of that id; nil when there is none.
    public subscript(_ user: UserID) -> Member? { all.first { $0.user == user } }

    /// The owner; nil only when there is no member.
    public var owner: UserID? { all.first { $0.role == .owner }?.user }

    /// The member who acts, if the role allows it.
    ///
    /// - Throws: `NOT_FOUND` for users who are not in the circle: for them it does not exist. `NOT_ALLOWED`.
    @discardableResult
    public func require(_ right: Right, of user: UserID) throws(ServiceError) -> Member {
        guard let member = self[user] else { throw ServiceError.notFound("circle") }
        guard member.role.may(right) else { throw Self.notAllowed }
        return member
    }

    /// A user joins.
    ///
    /// - Returns: false for one who is in it already.
    /// - Throws: `CIRCLE_FULL`.
    public mutating func join(_ user: UserID, now: Instant) throws(ServiceError) -> Bool {
        guard self[user] == nil else { return false }
        guard all.count < Self.limit else {
            throw ServiceError(.failedPrecondition, "CIRCLE_FULL", "This circle has \(Self.limit) members already.")
        }
        // Never before those who are in it, whatever the clocks of two replicas show.
        all.append(Member(user: user, role: .member, joinedAt: max(now, all.last?.joinedAt ?? now)))
        return true
    }

    /// A member leaves. When it was the owner, the admin who has been in it longest owns it, else the member who has; those who cannot act
    /// only when there is no one else.
    ///
    /// - Parameter unavailable: members whose accounts are shut.
    /// - Returns: the new owner; nil when the owner is the same, or there is no member any more.
    /// - Throws: `NOT_FOUND` for users who are not in the circle.
    public mutating func leave(_ user: UserID, unavailable: Set<UserID> = []) throws(ServiceError) -> UserID? {
        guard let member = self[user] else { throw ServiceError.notFound("circle") }
        all.removeAll { $0.user == user }
        guard member.role == .owner else { return nil }
        let able = all.filter { !unavailable.contains($0.user) }
        let candidates = able.isEmpty ? all : able
        guard let heir = candidates.first(where: { $0.role == .admin }) ?? candidates.first else { return nil }
        setRole(.owner, of: heir.user)
        return heir.user
    }

    /// The owner removes anyone else, an admin members.
    ///
    /// - Throws: `NOT_FOUND`, `NOT_ALLOWED`, `CANNOT_REMOVE_SELF`.
    public mutating func remove(_ user: UserID, by actor: UserID) throws(ServiceError) {
        try require(.removeMembers, of: actor)
        guard user != actor else {
            throw ServiceError(.invalidArgument, "CANNOT_REMOVE_SELF", "To go yourself, leave the circle.")
        }
        guard let member = self[user] else { throw ServiceError.notFound("member") }
        if member.role != .member { try require(.removeAdmins, of: actor) }
        all.removeAll { $0.user == user }
    }

    /// The owner makes a member an admin, or an admin a member.
    ///
    /// - Returns: whether the role is another.
    /// - Throws: `NOT_FOUND`, `NOT_ALLOWED`, `OWNER_KEEPS_ROLE`, `VALIDATION_ERROR` naming `role`.
    public mutating func setRole(_ role: Role, of user: UserID, by actor: UserID) throws(ServiceError) -> Bool {
        try require(.changeRoles, of: actor)
        guard role != .owner else {
            throw ServiceError.roleToTransfer
        }
        guard let member = self[user] else { throw ServiceError.notFound("member") }
        guard member.role != .owner else {
            throw ServiceError(
                .failedPrecondition,
                "OWNER_KEEPS_ROLE",
                "The owner keeps the role until the circle is transferred."
            )
        }
        guard member.role != role else { return false }
        setRole(role, of: user)
        return true
    }

    /// The owner gives the circle to another member and becomes an admin.
    ///
    /// - Throws: `NOT_FOUND`, `NOT_ALLOWED`, `CANNOT_TRANSFER_TO_SELF`.
    public mutating func transfer(to user: UserID, by actor: UserID) throws(ServiceError) {
        try require(.transfer, of: actor)
        guard user != actor else {
            throw ServiceError(.invalidArgument, "CANNOT_TRANSFER_TO_SELF", "You own this circle already.")
        }
        guard self[user] != nil else { throw ServiceError.notFound("member") }
        setRole(.admin, of: actor)
        setRole(.owner, of: user)
    }

    private mutating func setRole(_ role: Role, of user: UserID) {
        for index in all.indices where all[index].user == user { all[index].role = role }
    }

    static let notAllowed = ServiceError(.permissionDenied, "NOT_ALLOWED", "Your role in this circle does not allow this.")
}

extension ServiceError {
    /// Refuses a role that is not given to a member, as the owner's.
    public static let roleToTransfer = ServiceError.validation(
        field: "role",
        "must be admin or member; to give the circle away, transfer it"
    )
}
