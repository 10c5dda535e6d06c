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
                ("notification_id", .word(id.description)), ("type", .word(type)), ("streak_id", .word(streak?.description)),
                ("friendship_id", .word(friendship?.description)),
            ]
        )
    }

    /// The user has so many unread entries now.
    package static func unreadCount(of user: UserID, _ count: Int32) -> LiveEvent {
        LiveEvent(user, "unread_count", [("unread_count", .number(Int64(count)))])
    }

    /// A streak of the user's with a friend is another.
    ///
    /// - Parameter count: nil where it is as before.
    package static func streak(_ streak: StreakID, of user: UserID, _ status: StreakStatus, count: Int32? = nil) -> LiveEvent {
        LiveEvent(
            user,
            "streak",
            [
                ("streak_id", .word(streak.description)), ("status", .word(status.rawValue)),
                ("count", .number(count.map(Int64.init))),
            ]
        )
    }

    /// What a member of `data` may be: nothing in which a user's text fits.
    package enum Value: Sendable {
        /// A word, an id or a date. Whatever else there were in it is left out, so that it is JSON as it is.
        case word(String?)
        case number(Int64?)
        case instant(Instant?)
        case objects([[(name: String, value: Value)]])

        fileprivate var json: String {
            switch self {
            case .word(let word?):
                "\"\(word.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == "-") })\""
            case .number(let number?): "\(number)"
            case .instant(let instant?): "\"\(instant)\""
            case .word(nil), .number(nil), .instant(nil): "null"
            case .objects(let objects): "[" + objects.map(Self.object).joined(separator: ",") + "]"
            }
        }

        fileprivate static func object(_ members: [(name: String, value: Value)]) -> String {
            "{" + members.map { "\"\($0.name)\":\($0.value.json)" }.joined(separator: ",") + "}"
        }
    }

    /// - Parameters:
    ///   - name: one of the kinds that `Live.Watch` declares.
    ///   - members: all that the kind's message has, also those without a value.
    package init(_ user: UserID, _ name: String, _ members: [(name: String, value: Value)]) {
        (self.user, self.name) = (user, name)
        data = Value.object(members)
    }
}
