public import Kernel

/// Whether an account may be used, and what changes that (AU-7, SO-9).
///
/// | | suspend | ban | suspension ends or is lifted | delete | restore | purge |
/// |---|---|---|---|---|---|---|
/// | active | suspended | banned | – | deleted | refused | – |
/// | suspended | until the later end | banned | active | deleted | refused | – |
/// | banned | banned | banned | banned | deleted | refused | – |
/// | deleted | as it will be when restored | the same | the same | deleted | as before the deletion | gone |
public struct AccountLife: Hashable, Sendable {
    /// How long a deleted account can be restored (AU-7).
    public static let restorable = Interval.days(30)
    /// How long a suspension lasts unless its event says otherwise (SO-9).
    public static let suspension = Interval.days(7)
    /// The longest suspension, 10 years; what is to last longer is a ban.
    public static let longestSuspension = Interval.days(3_653)

    /// The numbers are those of the proto's AccountStatus.
    public enum Status: Int32, Hashable, Sendable, CaseIterable {
        case active = 1
        case suspended = 2
        case banned = 3
        case deleted = 4
    }

    /// When the suspension ends; nil without one.
    public private(set) var suspendedUntil: Instant?
    /// Since when the account is banned; nil when it is not.
    public private(set) var bannedAt: Instant?
    /// When its owner deleted it; nil when it is not deleted.
    public private(set) var deletedAt: Instant?

    /// A life as stored.
    public init(suspendedUntil: Instant? = nil, bannedAt: Instant? = nil, deletedAt: Instant? = nil) {
        self.suspendedUntil = suspendedUntil
        self.bannedAt = bannedAt
        self.deletedAt = deletedAt
    }

    /// What it comes to: a deletion hides a ban, and a ban outlives a suspension.
    public var status: Status {
        if deletedAt != nil { return .deleted }
        if bannedAt != nil { return .banned }
        return suspendedUntil == nil ? .active : .suspended
    }

    /// When everything personal is removed; nil unless the account is deleted.
    public var purgeAt: Instant? { deletedAt.map { $0 + Self.restorable } }

    /// Shuts the account until an instant; a longer suspension stays. One that is over already changes nothing.
    public mutating func suspend(until end: Instant, now: Instant) {
        guard end > now else { return }
        suspendedUntil = max(end, suspendedUntil ?? end)
    }

    /// Shuts the account for good.
    public mutating func ban(at now: Instant) { bannedAt = bannedAt ?? now }

    /// Ends a suspension whose time is over.
    public mutating func liftSuspension(now: Instant) {
        if let end = suspendedUntil, end <= now { suspendedUntil = nil }
    }

    /// An administrator ends the suspension before its time; a ban stays.
    ///
    /// - Throws: `ACCOUNT_NOT_SUSPENDED`.
    public mutating func lift() throws(ServiceError) {
        guard suspendedUntil != nil else {
            throw ServiceError(.failedPrecondition, "ACCOUNT_NOT_SUSPENDED", "This account is not suspended.")
        }
        suspendedUntil = nil
    }

    /// The owner deletes it; deleting it again changes nothing.
    public mutating func delete(at now: Instant) { deletedAt = deletedAt ?? now }

    /// An administrator brings it back, as suspended or banned as it was.
    ///
    /// - Throws: `ACCOUNT_NOT_DELETED`, and `NOT_FOUND` when its time is over although it is not removed yet.
    public mutating func restore(now: Instant) throws(ServiceError) {
        guard let purgeAt else {
            throw ServiceError(.failedPrecondition, "ACCOUNT_NOT_DELETED", "This account is not deleted.")
        }
        guard now < purgeAt else { throw .notFound("account") }
        deletedAt = nil
        liftSuspension(now: now)
    }

    /// Why the account cannot sign in; nil when it can.
    public var refusal: ServiceError? {
        switch status {
        case .active: nil
        case .suspended:
            Self.refusal("ACCOUNT_SUSPENDED", "This account is suspended", ends: "until", suspendedUntil)
        case .banned: ServiceError(.permissionDenied, "ACCOUNT_BANNED", "This account is banned.")
        case .deleted:
            Self.refusal(
                "ACCOUNT_SCHEDULED_FOR_DELETION",
                "This account is deleted and will be removed",
                ends: "purge_at",
                purgeAt
            )
        }
    }

    private static func refusal(_ reason: String, _ text: String, ends field: String, _ end: Instant?) -> ServiceError {
        let time = end.map { "\($0)" } ?? ""
        return ServiceError(
            .permissionDenied,
            reason,
            field == "until" ? "\(text) until \(time)." : "\(text) at \(time).",
            details: [.init(field: field, message: time)]
        )
    }
}
