package import Kernel

/// Something that an open app shows at once (NO-7). It names what to read again; it holds no text, caption or address (PH-4).
package struct LiveEvent: Sendable, Equatable {
    /// What has happened to a streak.
    package enum StreakStatus: String, Sendable {
        case active, broken, ended
    }

    /// Whose event it is.
    package let user: UserID
    /// `event` of the stream.
    package let name: String
    /// `data` of the stream: a JSON object.
    package let data: String

    /// There is an entry more in the user's log.
    ///
    /// - Parameter type: the kind as the API writes it, `friend_request`.
    package static func notification(
        to user: UserID,
        _ id: NotificationID,
        type: String,
        streak: StreakID? = nil,
        friendship: FriendshipID? = nil
    ) -> LiveEvent {
        LiveEvent(
            user,
            "notification",
            [
                ("notification_id", text(id.description)), ("type", text(type)), ("streak_id", text(streak?.description)),
                ("friendship_id", text(friendship?.description)),
            ]
        )
    }

    /// The user has so many unread entries now.
    package static func unreadCount(of user: UserID, _ count: Int32) -> LiveEvent {
        LiveEvent(user, "unread_count", [("unread_count", "\(count)")])
    }

    /// A streak of the user's is another.
    ///
    /// - Parameter count: nil where it is as before.
    package static func streak(_ streak: StreakID, of user: UserID, _ status: StreakStatus, count: Int32? = nil) -> LiveEvent {
        LiveEvent(
            user,
            "streak",
            [
                ("streak_id", text(streak.description)), ("status", text(status.rawValue)),
                ("count", count.map { "\($0)" } ?? "null"),
            ]
        )
    }

    private init(_ user: UserID, _ name: String, _ members: [(name: String, json: String)]) {
        (self.user, self.name) = (user, name)
        data = "{" + members.map { "\"\($0.name)\":\($0.json)" }.joined(separator: ",") + "}"
    }

    /// Words and ids alone: whatever else there were in the text is left out, so that it is JSON as it is.
    private static func text(_ word: String?) -> String {
        guard let word else { return "null" }
        return "\"\(word.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == "-") })\""
    }
}
