internal import Kernel
private import Synchronization

/// The limits of this gateway (PF-5): per address, against floods and guessing, and per user, wherever they come from.
final class RateLimits: Sendable {
    private static let burstSeconds = 10

    private let users: Mutex<RateLimit<UserID>?>
    private let addresses: Mutex<RateLimit<IPAddress>?>
    private let start = ContinuousClock.now

    /// - Parameters:
    ///   - userRate: requests a second of one user; 0 for no limit.
    ///   - addressRate: requests a second from one address; 0 for no limit.
    init(userRate: Int, addressRate: Int) {
        users = Mutex(userRate > 0 ? RateLimit(perSecond: userRate, burst: userRate * Self.burstSeconds) : nil)
        addresses = Mutex(addressRate > 0 ? RateLimit(perSecond: addressRate, burst: addressRate * Self.burstSeconds) : nil)
    }

    /// Asks for a request from an address; nil when there is no limit.
    func ask(address: IPAddress?, cost: UInt32) -> Allowance? {
        guard let caller = address?.site else { return nil }
        let now = now
        return addresses.withLock { $0?.ask(caller, cost: Int(cost), now: now) }
    }

    /// Asks for a request of a user; nil when there is no limit.
    func ask(user: UserID?, cost: UInt32) -> Allowance? {
        guard let user else { return nil }
        let now = now
        return users.withLock { $0?.ask(user, cost: Int(cost), now: now) }
    }

    private var now: Int64 {
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
