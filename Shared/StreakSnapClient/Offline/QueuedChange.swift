public import Foundation

/// A change that waits for the network.
public struct QueuedChange: Codable, Sendable, Hashable, Identifiable {
    /// Also its idempotency key: however often it is sent, it takes effect once.
    public let id: String
    /// Its place: changes are sent in the order in which they were added.
    public let number: Int
    /// Whose it is; it waits while another user is signed in.
    public let userID: UserID?
    /// When it was added, by the device's clock.
    public let addedAt: Date
    /// The method: `Snaps.UploadSnap`.
    public var method: String { request.name }
    let request: PreparedRequest
    let auth: String
    let timeoutMilliseconds: Int64
    /// The file's own name and media type, when it has one.
    let fileName: String?
    let fileType: String?
}

/// What became of a change.
public struct QueueOutcome: Sendable {
    /// How a change ended.
    public enum Result: Sendable {
        /// The server has made it. The reply as it came.
        case done(Data)
        /// The server refuses it; it is no longer in the queue.
        case refused(StreakSnapError)
    }

    /// The change.
    public let change: QueuedChange
    /// How it ended.
    public let result: Result
}
