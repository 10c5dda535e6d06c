public import Kernel

/// What a protective event is for: the user on whose behalf it is emitted, or the event whose handler emits it.
public typealias ProtectionKey = ID<ProtectiveEvents>

/// Events that protect a user, and the features that must have applied each before the request that caused it is answered (D21): ended
/// friendships, blocks, suspensions and deletions.
///
/// This is the only place where they are listed. A service does not start when its handlers do not agree with it.
public enum ProtectiveEvents {
    /// Features by service, by the subject of the event.
    static let features: [String: [String: [String]]] = [
        "evt.social.v1.FriendshipEnded": ["streaks": ["mutual"], "media": ["cards"]],
        "evt.social.v1.UserBlocked": [
            "auth": ["profiles"], "streaks": ["core"], "media": ["core", "cards"], "notifications": ["core"],
        ],
        "evt.social.v1.ModerationActionTaken": ["auth": ["accounts"], "streaks": ["core"]],
        "evt.social.v1.PostStandingChanged": ["media": ["places"]],
        "evt.auth.v1.AccountDeleted": ["social": ["core"], "streaks": ["core"], "notifications": ["core"]],
        "evt.auth.v1.ProfileChanged": [
            "social": ["core"], "streaks": ["core"], "media": ["core"], "notifications": ["core"],
        ],
    ]

    /// Features that handle such an event and protect no one by it: no reply waits for them.
    private static let others: [String: [String: [String]]] = [
        // The notification of the action itself.
        "evt.social.v1.ModerationActionTaken": ["notifications": ["log"]],
        // Who leaves the circles is hidden in them already.
        "evt.auth.v1.AccountDeleted": ["social": ["circles"]],
        "evt.auth.v1.ProfileChanged": ["social": ["circles"]],
    ]

    /// The services whose handlers must agree with the list. One of another repository protects no one: no reply waits for it.
    private static let bound: Set<String> = ["auth", "social", "streaks", "media", "notifications", "billing"]

    /// The services that must have applied an event of this kind; none for other events.
    public static func services(applying subject: String) -> [String] { (features[subject] ?? [:]).keys.sorted() }

    /// The features of a service that must have applied an event of this kind.
    public static func features(of service: String, applying subject: String) -> [String] { features[subject]?[service] ?? [] }

    /// What is wrong between the handlers of a feature and this list; nil when nothing is.
    ///
    /// - Parameter subjects: those of all events that the feature handles.
    public static func problem(service: String, feature: String, handling subjects: Set<String>) -> String? {
        guard bound.contains(service) else { return nil }
        for (subject, listed) in features.sorted(by: { $0.key < $1.key }) {
            let isListed = listed[service]?.contains(feature) ?? false
            let isOther = others[subject]?[service]?.contains(feature) ?? false
            if isListed, !subjects.contains(subject) { return "\(service) \(feature) does not handle \(subject), which protects" }
            if subjects.contains(subject), !isListed, !isOther {
                return "\(service) \(feature) handles \(subject) and is not listed"
            }
        }
        return nil
    }
}
