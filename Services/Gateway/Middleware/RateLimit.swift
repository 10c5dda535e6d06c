/// What a caller may still ask for (RFC draft "RateLimit header fields for HTTP").
struct Allowance: Equatable, Sendable {
    var isAllowed: Bool
    /// Requests that could be made at once after a pause.
    var limit: Int
    /// Requests that can still be made at once.
    var remaining: Int
    /// Seconds until the allowance is whole again, rounded up.
    var reset: Int
    /// Seconds until this request would be allowed, rounded up; 0 when it is.
    var retryAfter: Int
}

/// How many requests one caller may make: pure, the generic cell rate algorithm (GCRA), one instant per caller.
///
/// A caller that was quiet may make `burst` requests at once; after that `perSecond`. Nothing is kept of callers whose allowance is
/// whole again.
struct RateLimit<Caller: Hashable & Sendable>: Sendable {
    private let interval: Int64
    private let burst: Int
    private let mostCallers: Int
    /// When each caller's allowance is whole again, in nanoseconds; absent when it is.
    private var wholeAt: [Caller: Int64] = [:]
    private var nextSweep: Int64 = 0

    /// - Parameters:
    ///   - perSecond: requests, at least 1.
    ///   - burst: at least 1.
    ///   - mostCallers: how many are tracked; when there are more, those who used least are dropped.
    init(perSecond: Int, burst: Int, mostCallers: Int = 200_000) {
        self.interval = 1_000_000_000 / Int64(max(1, perSecond))
        self.burst = max(1, burst)
        self.mostCallers = mostCallers
    }

    /// How many callers are remembered.
    var count: Int { wholeAt.count }

    /// Asks for a request.
    ///
    /// - Parameters:
    ///   - cost: as how many requests it counts; at most the burst, so that it is possible at all.
    ///   - now: nanoseconds of a clock that never goes back.
    mutating func ask(_ caller: Caller, cost: Int = 1, now: Int64) -> Allowance {
        sweep(now)
        let allowance = interval * Int64(burst)
        let price = interval * Int64(min(max(1, cost), burst))
        let whole = max(wholeAt[caller] ?? now, now)
        let next = whole + price
        let isAllowed = next - now <= allowance
        if isAllowed { wholeAt[caller] = next }
        let used = (isAllowed ? next : whole) - now
        return Allowance(
            isAllowed: isAllowed,
            limit: burst,
            remaining: Int((allowance - used) / interval),
            reset: Self.seconds(used),
            retryAfter: isAllowed ? 0 : max(1, Self.seconds(next - now - allowance))
        )
    }

    private static func seconds(_ nanoseconds: Int64) -> Int { Int((nanoseconds + 999_999_999) / 1_000_000_000) }

    private mutating func sweep(_ now: Int64) {
        guard now >= nextSweep || wholeAt.count >= mostCallers else { return }
        nextSweep = now + 10_000_000_000
        wholeAt = wholeAt.filter { $0.value > now }
        guard wholeAt.count >= mostCallers else { return }
        // Flooded by callers that come once each: those who used least lose nothing that counts.
        let limit = wholeAt.values.sorted()[wholeAt.count / 2]
        wholeAt = wholeAt.filter { $0.value > limit }
    }
}
