internal import Outbox
private import Synchronization

/// The idempotency keys whose requests are being worked on, here and by the other replicas of the service, before a transaction has them.
final class KeysAtWork: Sendable {
    private let here = Mutex<Set<Int64>>([])
    private let presence: ReplicaPresence?

    /// - Parameter presence: shows them to the other replicas; nil where they are not shown.
    init(_ presence: ReplicaPresence?) { self.presence = presence }

    /// Takes a key.
    ///
    /// - Returns: false when it is being worked on; otherwise `giveBack` must follow.
    func take(_ key: Int64) async -> Bool {
        guard here.withLock({ $0.insert(key).inserted }) else { return false }
        guard let presence else { return true }
        // By a task that is not cancelled with the request: what became of it must be known.
        let isFree = await Task { await presence.claim(key) != .takenElsewhere }.value
        if !isFree { forget(key) }
        return isFree
    }

    /// Gives it back.
    func giveBack(_ key: Int64) async {
        if let presence { await Task { await presence.release(key) }.value }
        forget(key)
    }

    private func forget(_ key: Int64) { here.withLock { _ = $0.remove(key) } }
}
