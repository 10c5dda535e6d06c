/// Pauses that double up to a limit, with jitter so that replicas do not retry at the same time. Pure: the caller passes the seed.
struct Backoff {
    let first: UInt64
    let limit: UInt64

    /// The pause before attempt `failures + 1`, between half and the whole of the doubled time.
    func delay(failures: Int, seed: UInt64) -> UInt64 {
        let doublings = min(max(0, failures - 1), 32)
        let whole = min(limit, first.multipliedReportingOverflow(by: 1 << UInt64(doublings)).partialValue)
        return whole / 2 + (whole / 2 == 0 ? 0 : Self.mixed(seed) % (whole / 2 + 1))
    }

    /// Spreads the bits of a counter or clock (the finaliser of SplitMix64, Steele, Lea and Flood 2014).
    private static func mixed(_ seed: UInt64) -> UInt64 {
        var value = seed &+ 0x9E37_79B9_7F4A_7C15
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

/// Which connections are missing, and when to make the next attempt. One attempt at a time, so that a server that just came back is
/// not overloaded.
struct Recovery {
    private var missing: [Int]
    /// The slot an attempt is under way for.
    private(set) var attempting: Int?
    private var notBefore: UInt64 = 0
    private(set) var failures = 0
    private let backoff: Backoff

    /// All `slots` connections are missing.
    init(slots: Int, backoff: Backoff) {
        missing = Array(0..<slots)
        self.backoff = backoff
    }

    /// Whether a slot waits for an attempt, now or later.
    var isBusy: Bool { !missing.isEmpty }

    /// The slot to connect now; nil when none is missing, or it is too early.
    mutating func nextAttempt(now: UInt64) -> Int? {
        guard attempting == nil, now >= notBefore, let slot = missing.first else { return nil }
        missing.removeFirst()
        attempting = slot
        return slot
    }

    /// The attempt succeeded: the others may follow at once.
    mutating func succeeded() {
        attempting = nil
        failures = 0
        notBefore = 0
    }

    /// The attempt failed.
    mutating func failed(now: UInt64) {
        if let attempting { missing.append(attempting) }
        attempting = nil
        failures += 1
        notBefore = now + backoff.delay(failures: failures, seed: now)
    }

    /// The server says nothing, and its connections are given up: it counts as away until the next attempt succeeds.
    mutating func gaveUp() { failures += 1 }

    /// A connection died.
    mutating func lost(_ slot: Int) { missing.append(slot) }
}
