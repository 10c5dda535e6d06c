internal import Kernel
internal import MediaAPI

/// A snap on its way (D6).
struct SnapOperation: Sendable {
    var id: OperationID
    var user: UserID
    /// SHA-256 of the idempotency key; nil without one.
    var keyHash: [UInt8]?
    /// What a repeat with the same key must equal (PF-4).
    var requestHash: [UInt8]
    /// What makes two uploads the same without a key (PH-3).
    var contentHash: [UInt8]
    /// The author's date that the snap claims.
    var claimedDate: CalendarDate
    var streaks: [StreakID]
    var caption: String?
    var promptID: String?
    var capturedAt: Instant?
    var receivedAt: Instant
    /// Of the photo's bytes.
    var sha256: [UInt8]
    var displayKey: String
    var thumbnailKey: String
    /// Of the display rendition; 0 until it is made.
    var width: Int32
    var height: Int32
}

/// An operation and where it stands.
struct StoredOperation: Sendable {
    /// What an operation has come to.
    enum Standing: Sendable {
        /// Its renditions are being made; its maker counts as dead from that instant on.
        case beingMade(until: Instant)
        case underWay
        case done(UploadSnapReply)
        /// Refused by every streak, or its maker died.
        case void
    }

    let operation: SnapOperation
    let standing: Standing
}
