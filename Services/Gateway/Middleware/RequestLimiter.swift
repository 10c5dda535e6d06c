internal import Kernel
private import Synchronization

/// How many requests run at once; what is beyond is refused, not queued.
///
/// Those whose body is still arriving are counted apart, with as many places: how long that takes is for the client to say, and
/// it must not keep others out. Of these places one address gets an eighth.
final class RequestLimiter: Sendable {
    /// What a request holds.
    enum Place: Equatable, Sendable {
        case running
        case arriving(IPAddress?)
    }

    private struct Arriving {
        var total = 0
        var byAddress: [IPAddress?: Int] = [:]
    }

    private let running = Atomic<Int>(0)
    private let arriving = Mutex(Arriving())
    private let limit: Int
    private let share: Int

    /// - Parameters:
    ///   - limit: places of each kind.
    ///   - isShared: whether each address has its own share.
    init(limit: Int, isShared: Bool) {
        self.limit = limit
        // Few places are not worth dividing.
        share = isShared ? max(limit / 8, min(limit, 16)) : limit
    }

    /// Requests that run.
    var current: Int { running.load(ordering: .relaxed) }

    /// Gives a request that is there as a whole a place.
    ///
    /// - Returns: nil when there is none; otherwise `leave` must follow.
    func enter() -> Place? {
        guard running.add(1, ordering: .relaxed).newValue <= limit else {
            running.subtract(1, ordering: .relaxed)
            return nil
        }
        return .running
    }

    /// The same for a request whose body is still arriving.
    func enter(arrivingFrom client: IPAddress?) -> Place? {
        let client = client?.site
        return arriving.withLock { arriving in
            guard arriving.total < limit, arriving.byAddress[client, default: 0] < share else { return nil }
            arriving.total += 1
            arriving.byAddress[client, default: 0] += 1
            return .arriving(client)
        }
    }

    /// The body has arrived: the request leaves its place for one of those that run.
    ///
    /// - Returns: false when there is none; the request keeps the place that it has.
    func arrived(_ place: inout Place?) -> Bool {
        guard case .arriving? = place else { return true }
        guard let next = enter() else { return false }
        if let place { leave(place) }
        place = next
        return true
    }

    /// Gives the place back.
    func leave(_ place: Place) {
        guard case .arriving(let client) = place else {
            running.subtract(1, ordering: .relaxed)
            return
        }
        arriving.withLock { arriving in
            arriving.total -= 1
            let left = arriving.byAddress[client, default: 1] - 1
            arriving.byAddress[client] = left > 0 ? left : nil
        }
    }
}
