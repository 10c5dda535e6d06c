/// A UUID of one kind of entity: a `UserID` cannot be passed as a `StreakID`.
///
/// An `IDSource` makes UUIDv7 (RFC 9562), so ids sort by their creation time.
public struct ID<Entity>: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The first eight bytes, big-endian.
    public let high: UInt64
    /// The last eight bytes, big-endian.
    public let low: UInt64

    /// An id from its two halves.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// An id from 36-character text in either case; nil for anything else.
    public init?(_ text: some StringProtocol) {
        // One generic call for each text, not for each character: pages hold hundreds of ids.
        if let known = text.utf8.withContiguousStorageIfAvailable({ Self.parse($0) }) {
            guard let known else { return nil }
            self = known
        } else {
            var copy = String(text)
            guard let known = copy.withUTF8({ Self.parse($0) }) else { return nil }
            self = known
        }
    }

    private static func parse(_ text: UnsafeBufferPointer<UInt8>) -> Self? {
        guard text.count == 36 else { return nil }
        var halves: (UInt64, UInt64) = (0, 0)
        for position in 0..<36 {
            let byte = text[position]
            if position == 8 || position == 13 || position == 18 || position == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
            } else {
                guard let value = hexValue(byte) else { return nil }
                if position < 18 { halves.0 = halves.0 << 4 | value } else { halves.1 = halves.1 << 4 | value }
            }
        }
        return Self(high: halves.0, low: halves.1)
    }

    /// An id from a field of a request.
    ///
    /// - Throws: `ServiceError` `VALIDATION_ERROR` naming `field` when the text is not a UUID.
    public init(parsing text: String, field: String) throws(ServiceError) {
        guard let id = Self(text) else { throw .validation(field: field, "must be a UUID") }
        self = id
    }

    /// Lower-case 8-4-4-4-12 text.
    public var description: String {
        String(unsafeUninitializedCapacity: 36) { buffer in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            let second = Self.hexadecimal(UInt32(truncatingIfNeeded: high))
            let third = Self.hexadecimal(UInt32(truncatingIfNeeded: low >> 32))
            bytes.storeBytes(
                of: Self.hexadecimal(UInt32(truncatingIfNeeded: high >> 32)).bigEndian,
                toByteOffset: 0,
                as: UInt64.self
            )
            bytes.storeBytes(of: UInt32(truncatingIfNeeded: second >> 32).bigEndian, toByteOffset: 9, as: UInt32.self)
            bytes.storeBytes(of: UInt32(truncatingIfNeeded: second).bigEndian, toByteOffset: 14, as: UInt32.self)
            bytes.storeBytes(of: UInt32(truncatingIfNeeded: third >> 32).bigEndian, toByteOffset: 19, as: UInt32.self)
            bytes.storeBytes(of: UInt32(truncatingIfNeeded: third).bigEndian, toByteOffset: 24, as: UInt32.self)
            bytes.storeBytes(of: Self.hexadecimal(UInt32(truncatingIfNeeded: low)).bigEndian, toByteOffset: 28, as: UInt64.self)
            (bytes[8], bytes[13], bytes[18], bytes[23]) = (0x2D, 0x2D, 0x2D, 0x2D)
            return 36
        }
    }

    /// The eight digits of a number, the first in the highest byte. All are computed at once, because replies hold many ids.
    private static func hexadecimal(_ number: UInt32) -> UInt64 {
        var digits = UInt64(number)
        digits = (digits << 16 | digits) & 0x0000_FFFF_0000_FFFF
        digits = (digits << 8 | digits) & 0x00FF_00FF_00FF_00FF
        digits = (digits << 4 | digits) & 0x0F0F_0F0F_0F0F_0F0F
        // Adding 6 carries digits from 10 up into the upper half of their byte.
        let isLetter = (digits &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return digits &+ 0x3030_3030_3030_3030 &+ isLetter &* 39
    }

    public static func < (left: Self, right: Self) -> Bool { (left.high, left.low) < (right.high, right.low) }

    /// The same UUID as the id of another kind of entity.
    public func cast<Other>(to _: Other.Type) -> ID<Other> { ID<Other>(high: high, low: low) }

    private static func hexValue(_ byte: UInt8) -> UInt64? {
        switch byte {
        case 48...57: return UInt64(byte - 48)
        case 65...70: return UInt64(byte - 55)
        case 97...102: return UInt64(byte - 87)
        default: return nil
        }
    }
}

/// The kinds of entities that have ids. They have no values: only the type matters.
public enum Tag {
    /// A user; owned by `auth`.
    public enum User {}
    /// A sign-in and its family of refresh tokens; owned by `auth`.
    public enum Session {}
    /// A friend request or friendship; owned by `social`.
    public enum Friendship {}
    /// One user's block of another; owned by `social`.
    public enum Block {}
    /// A report to moderators; owned by `social`.
    public enum Report {}
    /// What a report is about: a user, photo or post.
    public enum Subject {}
    /// A moderator's action; owned by `social`.
    public enum ModerationAction {}
    /// A streak of any kind; owned by `streaks`.
    public enum Streak {}
    /// One posted photo of a day; owned by `media`.
    public enum Snap {}
    /// A milestone card; owned by `media`.
    public enum MilestoneCard {}
    /// An entry of the in-app notification log; owned by `notifications`.
    public enum Notification {}
    /// A row of a token ledger; owned by `billing`.
    public enum LedgerEntry {}
    /// A change across services, made in steps (D6).
    public enum Operation {}
    /// One event in an outbox.
    public enum Event {}
}

/// The id of a user.
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
/// The id of a moderator's action.
public typealias ModerationActionID = ID<Tag.ModerationAction>
/// The id of a streak.
public typealias StreakID = ID<Tag.Streak>
/// The id of a snap.
public typealias SnapID = ID<Tag.Snap>
/// The id of a milestone card.
public typealias MilestoneCardID = ID<Tag.MilestoneCard>
/// The id of an entry of the in-app log.
public typealias NotificationID = ID<Tag.Notification>
/// The id of a row of a token ledger.
public typealias LedgerEntryID = ID<Tag.LedgerEntry>
/// The id of a cross-service change.
public typealias OperationID = ID<Tag.Operation>
/// The id of an event.
public typealias EventID = ID<Tag.Event>
