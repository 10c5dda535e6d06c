public import Kernel

/// How many completions an account has room for yet, while edits add and delete them (D22).
///
/// Only a completion that becomes a row needs room, whatever else edits do. A deletion makes room for what comes with it, before it too: a
/// device sends what was made and what was deleted on it at once. Deleting is never refused.
public struct HabitRoom: Hashable, Sendable {
    /// What is left of a limit.
    public struct Part: Hashable, Sendable {
        fileprivate var left: Int
        /// Why there is no more.
        fileprivate let refusal: ServiceError

        /// - Parameters:
        ///   - left: rows that still fit; 0 for an account that has more than its limit.
        ///   - refusal: `QUOTA_EXCEEDED`, with what to delete.
        public init(_ left: Int, else refusal: ServiceError) { (self.left, self.refusal) = (left, refusal) }
    }

    private struct Limits: Hashable, Sendable {
        var completions: Part
        /// Of each deleted completion its id is kept for devices (HA-7).
        var tombstones: Part
        /// Deletions whose room is in `completions` already.
        var expected: Set<CompletionID>
    }

    private var limits: Limits?

    /// For any number of completions.
    public static let unlimited = HabitRoom()

    private init() {}

    /// - Parameter deleting: stored completions that the edits delete.
    public init(completions: Part, tombstones: Part, deleting: Set<CompletionID> = []) {
        var limits = Limits(completions: completions, tombstones: tombstones, expected: deleting)
        limits.completions.left += deleting.count
        self.limits = limits
    }

    /// Whether it may come to an end.
    public var isLimited: Bool { limits != nil }

    /// A completion becomes a row.
    ///
    /// - Throws: `QUOTA_EXCEEDED`; nothing is taken then.
    mutating func add() throws(ServiceError) {
        guard let limits else { return }
        if limits.tombstones.left <= 0 { throw limits.tombstones.refusal }
        if limits.completions.left <= 0 { throw limits.completions.refusal }
        self.limits?.completions.left -= 1
    }

    /// The row of a completion is deleted.
    mutating func delete(_ id: CompletionID) {
        guard var limits else { return }
        limits.tombstones.left -= 1
        if limits.expected.remove(id) == nil { limits.completions.left += 1 }
        self.limits = limits
    }
}
