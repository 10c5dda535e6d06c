/// A UUID of one kind of entity: a `UserID` cannot be passed where a `StreakID` is meant.
///
/// Made as UUIDv7 (RFC 9562) by an `IDSource`, so ids sort by the time they were made.
public struct ID<Entity>: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The first eight bytes, big-endian.
    public let high: UInt64
    /// The last eight bytes, big-endian.
    public let low: UInt64

    /// An id from its two halves.
    @inlinable
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// An id from 36-character text in either case; nil for anything else.
    public init?(_ text: some StringProtocol) {
        // Lists are read by the hundred: one generic call for a text, not one for each character.
        func parse(_ text: UnsafeBufferPointer<UInt8>) -> (high: UInt64, low: UInt64)? {
            guard text.count == UUIDText.length, let start = text.baseAddress else { return nil }
            return UUIDText.parse(start)
        }
        if let known = text.utf8.withContiguousStorageIfAvailable(parse) {
            guard let known else { return nil }
            self.init(high: known.high, low: known.low)
        } else {
            var copy = String(text)
            guard let known = copy.withUTF8(parse) else { return nil }
            self.init(high: known.high, low: known.low)
        }
    }

    /// An id from a field of a request.
    ///
    /// - Throws: `ServiceError` `VALIDATION_ERROR` naming `field` when the text is no UUID.
    public init(parsing text: String, field: String) throws(ServiceError) {
        guard let id = Self(text) else { throw .validation(field: field, "must be a UUID") }
        self = id
    }

    /// Lower-case 8-4-4-4-12 text.
    public var description: String {
        String(unsafeUninitializedCapacity: UUIDText.length) { buffer in
            UUIDText.write(high: high, low: low, to: UnsafeMutableRawBufferPointer(buffer))
            return UUIDText.length
        }
    }

    public static func < (left: Self, right: Self) -> Bool { (left.high, left.low) < (right.high, right.low) }

    /// The same UUID as the id of another kind of entity.
    public func cast<Other>(to _: Other.Type) -> ID<Other> { ID<Other>(high: high, low: low) }
}

/// What ids are ids of. Never made: only the type matters.
public enum Tag {
    /// A person with an account; owned by `auth`.
    public enum User {}
    /// A sign-in and its family of refresh tokens; owned by `auth`.
    public enum Session {}
    /// A friend request or friendship; owned by `social`.
    public enum Friendship {}
    /// A user's block of another; owned by `social`.
    public enum Block {}
    /// A report to the moderators; owned by `social`.
    public enum Report {}
    /// What a report is about: a person, photo or post.
    public enum Subject {}
    /// What a moderator did; owned by `social`.
    public enum ModerationAction {}
    /// What an administrator did, in the audit log; owned by `auth`.
    public enum AdminAction {}
    /// A named group of users; owned by `social`.
    public enum Circle {}
    /// A code by which users join a circle; owned by `social`.
    public enum CircleInvite {}
    /// A streak of any kind; owned by `streaks`.
    public enum Streak {}
    /// One posted photo of a day; owned by `media`.
    public enum Snap {}
    /// A picture about a milestone of a streak; owned by `media`.
    public enum MilestoneCard {}
    /// A photo or video with a position, made by the client or by `media`.
    public enum Post {}
    /// A file that a client sends by a presigned link.
    public enum Upload {}
    /// An entry of the in-app notification log; owned by `notifications`.
    public enum Notification {}
    /// A row of a token ledger; owned by `billing`.
    public enum LedgerEntry {}
    /// What a user has bought, once; owned by `billing`.
    public enum Purchase {}
    /// A medal that a user has asked for; owned by `streaks`.
    public enum Medal {}
    /// A time in which nothing could be posted, as it was declared; owned by `streaks`.
    public enum Outage {}
    /// A change that several services make together, step by step (D6).
    public enum Operation {}
    /// One event in an outbox.
    public enum Event {}
    /// An open stream of server-sent events; made by the gateway, kept by the service whose events they are.
    public enum Lease {}
    /// What a user reported for a date: mood, weight, steps; owned by `streaks`.
    public enum TrackingEntry {}
    /// A habit of a user, made by the client or by `streaks`; two users may have the same.
    public enum Habit {}
    /// A category of a user's habits, made by the client or by `streaks`; two users may have the same.
    public enum HabitCategory {}
    /// A completion of a habit, made by the client or by `streaks`; two users may have the same.
    public enum Completion {}
    /// A photo of what was done of a habit on a date; owned by `media`.
    public enum HabitPhoto {}
}

/// The id of a person.
public typealias UserID = ID<Tag.User>
/// The id of a sign-in.
public typealias SessionID = ID<Tag.Session>
/// The id of a friend request or friendship.
public typealias FriendshipID = ID<Tag.Friendship>
/// The id of a block.
public typealias BlockID = ID<Tag.Block>
/// The id of a report.
public typealias ReportID = ID<Tag.Report>
/// The id of what a report is about.
public typealias SubjectID = ID<Tag.Subject>
/// The id of what a moderator did.
public typealias ModerationActionID = ID<Tag.ModerationAction>
/// The id of an entry of the audit log of administrators.
public typealias AdminActionID = ID<Tag.AdminAction>
/// The id of a circle.
public typealias CircleID = ID<Tag.Circle>
/// The id of an invite to a circle.
public typealias CircleInviteID = ID<Tag.CircleInvite>
/// The id of a streak.
public typealias StreakID = ID<Tag.Streak>
/// The id of a snap.
public typealias SnapID = ID<Tag.Snap>
/// The id of a milestone card.
public typealias MilestoneCardID = ID<Tag.MilestoneCard>
/// The id of a post: a photo or video with a position.
public typealias PostID = ID<Tag.Post>
/// The id of a file that a client sends by a presigned link.
public typealias UploadID = ID<Tag.Upload>
/// The id of an entry of the in-app log.
public typealias NotificationID = ID<Tag.Notification>
/// The id of a row of a token ledger.
public typealias LedgerEntryID = ID<Tag.LedgerEntry>
/// The id of a purchase.
public typealias PurchaseID = ID<Tag.Purchase>
/// The id of a medal that was asked for.
public typealias MedalID = ID<Tag.Medal>
/// The id of a declared outage.
public typealias OutageID = ID<Tag.Outage>
/// The id of a cross-service change.
public typealias OperationID = ID<Tag.Operation>
/// The id of an event.
public typealias EventID = ID<Tag.Event>
/// The id of an open stream of server-sent events.
public typealias LeaseID = ID<Tag.Lease>
/// The id of what a user reported for a date.
public typealias TrackingEntryID = ID<Tag.TrackingEntry>
/// The id of a habit, among those of its user.
public typealias HabitID = ID<Tag.Habit>
/// The id of a category of habits, among those of its user.
public typealias HabitCategoryID = ID<Tag.HabitCategory>
/// The id of a completion of a habit, among those of its user.
public typealias CompletionID = ID<Tag.Completion>
/// The id of a photo of a habit's date.
public typealias HabitPhotoID = ID<Tag.HabitPhoto>
