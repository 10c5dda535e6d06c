public import Kernel

/// Whether administrators need a second factor. The names are those of the setting.
public enum SecondFactorRule: String, Sendable, CaseIterable {
    /// Without one an administrator may do nothing but get one.
    case required
    /// A code is asked of those who have one.
    case enrolled

    /// How long a new secret waits for the code that confirms it.
    public static let confirmation = Interval.minutes(10)

    /// What an account may do with its next access token.
    public enum Rights: Hashable, Sendable {
        case user, admin
        /// An administrator who has to get a second factor first: no more than a user until then.
        case enrolment
    }

    /// - Parameter isEnrolled: whether the account has a second factor: then each of its sessions has shown a code of it.
    public func rights(isAdmin: Bool, isEnrolled: Bool) -> Rights {
        guard isAdmin else { return .user }
        return isEnrolled || self == .enrolled ? .admin : .enrolment
    }
}

extension ServiceError {
    /// The password is right, and the account has a second factor.
    public static let secondFactorRequired = ServiceError(
        .permissionDenied,
        "SECOND_FACTOR_REQUIRED",
        "Send a code of your authenticator app, or a recovery code.",
        details: [.init(field: "code", message: "is required")]
    )

    /// The code is wrong, too old, or was used before.
    public static let secondFactorInvalid = ServiceError(
        .permissionDenied,
        "SECOND_FACTOR_INVALID",
        "This code is wrong, or was used before. Wait for the next one.",
        details: [.init(field: "code", message: "is wrong or was used before")]
    )

    /// Other accounts cannot have one.
    public static let secondFactorAdminsOnly = ServiceError(
        .permissionDenied,
        "SECOND_FACTOR_ADMINS_ONLY",
        "Only administrators can have a second factor."
    )

    /// No secret waits for a code.
    public static let secondFactorNotStarted = ServiceError(
        .failedPrecondition,
        "SECOND_FACTOR_NOT_STARTED",
        "There is no new secret to confirm, or it is more than 10 minutes old. Ask for one."
    )

    /// There is nothing to remove.
    public static let secondFactorNotEnrolled = ServiceError(
        .failedPrecondition,
        "SECOND_FACTOR_NOT_ENROLLED",
        "This account has no second factor."
    )
}
