internal import Kernel

/// Decides when to request more messages from the broker. Events in, actions out, no I/O.
///
/// Messages come in answer to pull requests. A request ends when it has delivered all its messages, when the broker says so, when
/// its time is up, when heartbeats are missing (the broker died, or has no such consumer), or with the connection. At most two are
/// open: the second is sent when half of the first has arrived, so that messages flow while earlier ones are handled.
struct PullLoop: TimedValue {
    /// One pull request.
    struct Pull: Sendable, Equatable {
        /// Its number: the last token of its reply subject.
        let id: UInt64
        /// Most messages it may deliver.
        let batch: Int
    }

    private struct Waiting: Sendable {
        let id: UInt64
        var left: Int
        let expires: Tick
        /// When the broker last sent something.
        var lastSentAt: Tick

        /// When to abandon it.
        var end: Tick { min(expires + PullLoop.grace, lastSentAt + PullLoop.mostSilence) }
    }

    let batch: Int
    /// How long the broker holds a request that it cannot fill.
    let expiry: Interval
    /// How long to wait for the broker's status after that.
    static let grace = Interval.seconds(2)
    /// The interval of heartbeats for a request that the broker cannot fill yet.
    static let heartbeat = Interval.seconds(4)
    /// How long the broker may be silent: two heartbeats and a margin.
    static let mostSilence = Interval.milliseconds(8_500)
    private var nextID: UInt64 = 1
    private var pulls: [Waiting] = []
    private var buffered = 0
    private var notBefore = Tick(nanoseconds: 0)
    private var failures = 0
    private var hasStopped = false

    init(batch: Int, expiry: Interval) {
        self.batch = batch
        self.expiry = expiry
    }

    /// How many messages may still come.
    private var outstanding: Int { pulls.reduce(0) { $0 + $1.left } }

    /// The broker has sent something, for any request.
    mutating func brokerSent(now: Tick) {
        for index in pulls.indices { pulls[index].lastSentAt = now }
    }

    /// A message came.
    mutating func received(now: Tick) {
        brokerSent(now: now)
        buffered += 1
        failures = 0
        guard let index = pulls.firstIndex(where: { $0.left > 0 }) else { return }
        pulls[index].left -= 1
        if pulls[index].left == 0 { pulls.remove(at: index) }
    }

    /// The handler has returned after `count` messages.
    mutating func handled(_ count: Int) { buffered -= count }

    /// The broker ended a request.
    ///
    /// - Parameter status: 404 and 408 are the normal end of a request; anything else is a refusal, and a retry follows.
    mutating func ended(_ id: UInt64, status: Int, now: Tick) {
        brokerSent(now: now)
        guard let index = pulls.firstIndex(where: { $0.id == id }) else { return }
        pulls.remove(at: index)
        guard status != 404, status != 408 else { return }
        failures += 1
        notBefore = now + .milliseconds(min(2_000, 50 << Int64(min(failures, 6))))
    }

    /// The connection was made anew: the broker has lost all requests.
    mutating func reconnected() {
        pulls.removeAll()
        notBefore = Tick(nanoseconds: 0)
    }

    /// Request nothing more.
    mutating func stop() { hasStopped = true }

    /// What to request now; nil for nothing. Call it after every event and at `wakeAt`.
    mutating func next(now: Tick) -> Pull? {
        pulls.removeAll { $0.end <= now }
        // A time that has passed is left out: it would cause calls without pause while the handler is busy.
        if now >= notBefore { notBefore = Tick(nanoseconds: 0) }
        guard !hasStopped, now >= notBefore, pulls.count < 2, outstanding + buffered <= batch / 2 else { return nil }
        let pull = Pull(id: nextID, batch: batch - buffered)
        nextID += 1
        pulls.append(Waiting(id: pull.id, left: pull.batch, expires: now + expiry, lastSentAt: now))
        return pull
    }

    /// The broker said that requests are not taken, without saying which.
    mutating func refused(now: Tick) { for pull in pulls { ended(pull.id, status: 503, now: now) } }

    /// A request could not be sent.
    mutating func failed(_ id: UInt64, now: Tick) { ended(id, status: 503, now: now) }

    /// When to call `next` at the latest; nil when only events matter.
    var wakeAt: Tick? {
        guard !hasStopped else { return nil }
        let expiry = pulls.map(\.end).min()
        guard pulls.isEmpty, notBefore.nanoseconds > 0 else { return expiry }
        return notBefore
    }
}
