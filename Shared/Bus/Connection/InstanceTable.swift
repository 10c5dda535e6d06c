internal import Kernel

/// The name of one running instance of a service: 64 random bits, 16 lower-case hex digits in subjects.
struct InstanceID: Hashable, Sendable {
    let number: UInt64

    init(number: UInt64) { self.number = number }

    /// nil for anything but 16 lower-case hex digits.
    init?(_ digits: some Collection<UInt8>) {
        guard digits.count == 16, let number = Hex.value(digits) else { return nil }
        self.number = number
    }

    var text: String { Hex.text(number) }
}

/// The instances of one service as a caller sees them. Events in, decisions out, no I/O.
///
/// The broker goes on delivering to a process that is frozen or cut off, until it notices: seconds, or never (nats-server 2.9). So a call that
/// is not answered in its usual time starts a round: every instance is pinged. One that says nothing for the length of the round while
/// another one answers is silent: it gets no requests until it answers. Requests go to the others by name then, not to the queue group.
struct InstanceTable: Sendable {
    /// How long the instances have to answer a ping.
    static let roundLength = Interval.milliseconds(500)
    /// Most instances that are known; beyond it, the one that answered longest ago is dropped.
    static let mostInstances = 256

    private struct Entry: Sendable {
        var answeredAt: Tick
        var isSilent = false
    }

    private var entries: [InstanceID: Entry] = [:]
    private var silentCount = 0
    private var roundBegan: Tick?
    /// When the last round began that has ended.
    private var lastRound: Tick?
    private var turn = 0
    /// How often an instance was found silent or ended. A call that saw it grow may have been sent to one of them.
    private(set) var losses = 0

    /// Whether a round is under way.
    var isInRound: Bool { roundBegan != nil }

    /// Whether an instance is known that may still be running.
    var knowsAny: Bool { !entries.isEmpty }

    /// An instance answered a request or a ping.
    mutating func answered(_ id: InstanceID, now: Tick) {
        if let entry = entries[id] {
            if entry.isSilent { silentCount -= 1 }
        } else if entries.count == Self.mostInstances, let oldest = entries.min(by: { $0.value.answeredAt < $1.value.answeredAt })
        {
            gone(oldest.key)
        }
        entries[id] = Entry(answeredAt: now)
    }

    /// The broker has no subscription of this instance: it has ended.
    mutating func gone(_ id: InstanceID) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        if entry.isSilent { silentCount -= 1 } else { losses += 1 }
    }

    /// To whom the next request goes; nil for the queue group.
    mutating func destination() -> InstanceID? {
        guard silentCount > 0 else { return nil }
        let speaking = entries.filter { !$0.value.isSilent }.keys.sorted { $0.number < $1.number }
        guard !speaking.isEmpty else { return nil }
        turn &+= 1
        return speaking[turn % speaking.count]
    }

    /// To whom a request goes that was not answered in time: the instance that answered most recently, but not `last`. nil for the queue group,
    /// if no other one is known: that one may have it already, and there may be others that have not answered yet. After a round there are
    /// none, but one that is frozen and has never answered may be there: in the queue group it would get every second repeat too.
    func mostRecent(except last: InstanceID?) -> InstanceID? {
        let speaking = entries.filter { !$0.value.isSilent }
        if speaking.count == 1, silentCount == 0, !speaking.values.contains(where: { answeredLastRound($0) }) { return nil }
        return speaking.filter { $0.key != last }.max { $0.value.answeredAt < $1.value.answeredAt }?.key
    }

    private func answeredLastRound(_ entry: Entry) -> Bool { lastRound.map { entry.answeredAt >= $0 } ?? false }

    /// Begins a round.
    ///
    /// - Returns: The known instances, to be pinged by name too, so that the broker says which have ended; nil when a round is under way.
    mutating func beginRound(now: Tick) -> [InstanceID]? {
        guard roundBegan == nil else { return nil }
        roundBegan = now
        return Array(entries.keys)
    }

    /// Ends the round: who said nothing since it began, while another one did, is silent.
    ///
    /// - Returns: Whether another round must follow, because an instance is silent.
    mutating func endRound() -> Bool {
        guard let began = roundBegan else { return false }
        (roundBegan, lastRound) = (nil, began)
        guard entries.values.contains(where: { $0.answeredAt >= began }) else { return silentCount > 0 }
        for (id, entry) in entries where entry.answeredAt < began && !entry.isSilent {
            entries[id]?.isSilent = true
            silentCount += 1
            losses += 1
        }
        return silentCount > 0
    }
}

/// How many calls may be sent again because they are slow: one in twenty of the last minute, and always 50. So repeats cannot add much to an
/// overload.
struct RepeatBudget: Sendable {
    private static let always = 50
    private static let share = 20
    private static let seconds: UInt64 = 60

    private struct Second: Sendable {
        var number: UInt64 = 0
        var calls = 0
        var repeats = 0
    }

    private var window = [Second](repeating: Second(), count: Int(Self.seconds))

    /// A call was made.
    mutating func called(now: Tick) { window[second(now)].calls += 1 }

    /// Takes one repeat from the budget, if there is one.
    mutating func take(now: Tick) -> Bool {
        let index = second(now)
        let oldest = window[index].number
        let live = window.filter { $0.number + Self.seconds > oldest }
        let calls = live.reduce(0) { $0 + $1.calls }
        let repeats = live.reduce(0) { $0 + $1.repeats }
        guard repeats < max(Self.always, calls / Self.share) else { return false }
        window[index].repeats += 1
        return true
    }

    private mutating func second(_ now: Tick) -> Int {
        let number = now.nanoseconds / 1_000_000_000
        let index = Int(number % Self.seconds)
        if window[index].number != number { window[index] = Second(number: number) }
        return index
    }
}

/// How long the latest calls of one method took: some hundred of them, older ones count ever less.
struct LatencyHistogram: Sendable {
    /// Below it, nothing is known.
    private static let fewest = 20
    private static let most = 1_000
    /// Of the first bucket, in microseconds; each is a quarter longer than the one before, the last about 70 s.
    private static let shortest = 1_000.0
    private static let bounds = (0..<50).map { index in (0..<index).reduce(shortest) { bound, _ in bound * 1.25 } }

    private var buckets = [UInt32](repeating: 0, count: Self.bounds.count)
    private var count: UInt32 = 0

    /// A call took so long.
    mutating func record(_ duration: Duration) {
        let microseconds = duration / .microseconds(1)
        buckets[Self.bounds.firstIndex { microseconds <= $0 } ?? Self.bounds.count - 1] += 1
        count += 1
        guard count >= Self.most else { return }
        for index in buckets.indices { buckets[index] /= 2 }
        count = buckets.reduce(0, +)
    }

    /// 95 of 100 calls took at most so long; nil when too few are known.
    var percentile95: Interval? {
        guard count >= Self.fewest else { return nil }
        var rest = Double(count) * 0.95
        for (bound, calls) in zip(Self.bounds, buckets) {
            rest -= Double(calls)
            if rest <= 0 { return Interval(microseconds: Int64(bound)) }
        }
        return Interval(microseconds: Int64(Self.bounds[Self.bounds.count - 1]))
    }
}
