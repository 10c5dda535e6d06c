public import Kernel

/// What becomes of a report (SO-9).
public enum Moderation {
    /// How long a suspension lasts; it lifts itself.
    public static let suspension = Interval.days(7)

    /// What a moderator may do about a report; the raw values are those of the proto.
    public enum Action: Int32, Hashable, Sendable, CaseIterable {
        case dismiss = 1
        case warn = 2
        case suspend = 3
        case ban = 4
        /// Of a post: it is deleted.
        case remove = 5
    }

    /// Where a report stands; the raw values are those of the proto.
    public enum Status: Int32, Hashable, Sendable, CaseIterable {
        case pending = 1
        case actioned = 2
        case dismissed = 3
    }

    /// What an action results in.
    public struct Decision: Hashable, Sendable {
        /// Where the report stands from now on.
        public let status: Status
        /// When it ends by itself; nil when it does not.
        public let until: Instant?
    }

    /// A moderator acts on a report: once.
    ///
    /// - Parameter isPost: whether the report is about a post.
    /// - Throws: `VALIDATION_ERROR` for the removal of anything else, `ALREADY_ACTIONED` unless it is pending, `CANNOT_MODERATE_SELF` when the
    ///   report is about the moderator.
    public static func decide(
        _ action: Action,
        on status: Status,
        of owner: UserID,
        isPost: Bool = false,
        by moderator: UserID,
        now: Instant
    ) throws(ServiceError) -> Decision {
        guard action != .remove || isPost else { throw ServiceError.validation(field: "action", "remove is for posts only") }
        guard status == .pending else {
            throw ServiceError(.alreadyExists, "ALREADY_ACTIONED", "A moderator has acted on this report already.")
        }
        guard owner != moderator else {
            throw ServiceError(.permissionDenied, "CANNOT_MODERATE_SELF", "Another moderator must act on this report.")
        }
        return Decision(
            status: action == .dismiss ? .dismissed : .actioned,
            until: action == .suspend ? now + suspension : nil
        )
    }
}
