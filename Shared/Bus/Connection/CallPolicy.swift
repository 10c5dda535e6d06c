internal import Kernel

/// What may be sent again although an earlier sending may have had an effect.
enum Repeatability: Sendable, Equatable {
    /// Nothing.
    case never
    /// A change with an idempotency key that the service honours: it is made once, but being asked twice costs the service twice (a password is
    /// hashed, a wrong one counts). So only when the first sending is probably lost.
    case withKey
    /// A method that is declared idempotent: whenever it is slow.
    case idempotent
}

/// Whether, when and to whom a call is sent again. Pure; one for each call.
///
/// Only a call that may be repeated is sent a second time while its first sending may have had an effect: when there is no reply in the
/// method's usual time (the instance may have died, or be frozen), when the connection was lost after it was sent, when an instance refused it,
/// and as long as another sending of it is being worked on. The first success of any sending counts. A change's refusal counts when no other
/// sending may still be made: it may be a limit's, which knows nothing of the sending that is being worked on.
///
/// A sending that no instance got is repeated for any method: one to an instance that has ended, or one without responders while the broker
/// is down and shortly after, when they are still reconnecting.
struct CallPolicy {
    /// What came instead of a reply that decides the call.
    enum Event: Equatable {
        /// No reply until now. `isLost`: the connection was lost since the last sending. `isInstanceLost`: an instance of the service was found
        /// silent or ended since then. `elapsed`: since the first sending.
        case silence(isConnected: Bool, isLost: Bool, isInstanceLost: Bool, elapsed: Interval)
        /// An instance answered `UNAVAILABLE`; with `isLasting`, it named a time of more than a second.
        case refused(isLasting: Bool)
        /// An instance answered with another error: nothing has come of this sending.
        case declined
        /// Another sending, or another request with the same key, is being worked on.
        case inProgress
        /// The connection broke while the request was sent.
        case unsent
        /// The instance that it was sent to has ended.
        case gone
        /// There is no responder; `knowsInstances` when one is known that may still be answering what it had got.
        case noResponders(isHealing: Bool, knowsInstances: Bool)
    }

    /// What to do next.
    enum Step: Equatable {
        /// Wait for replies to what was sent, so long at most.
        case wait(Interval)
        /// Send again after a pause, in which replies to what was sent count.
        case send(after: Interval)
        /// The call has failed.
        case fail
    }

    /// Most sendings because of silence.
    private static let mostSlowRepeats = 3
    /// After so long a change with a key is sent again without a sign of what became of it.
    private static let longSilence = Interval.seconds(2)
    /// How often a change with a key looks for such a sign.
    private static let look = Interval.milliseconds(150)

    let repeatability: Repeatability
    /// The time in which nearly all calls are answered.
    let usualTime: Interval
    /// How many sendings may still be answered.
    private var awaited = 0
    /// How many may have had an effect, but the answer is lost.
    private var lost = 0
    private var rounds = 0
    private var slowRepeats = 0
    private var waits = 0
    private var hasRetried = false

    init(_ repeatability: Repeatability, usualTime: Interval) {
        self.repeatability = repeatability
        self.usualTime = usualTime
    }

    /// The request was sent.
    ///
    /// - Returns: For how long to wait for replies.
    mutating func sent() -> Interval {
        awaited += 1
        return patience
    }

    var isRepeatable: Bool { repeatability != .never }

    /// Whether every sending was answered, or reached no instance.
    var isSettled: Bool { awaited + lost == 0 }

    /// Longer with each round of silence, at most a second or the usual time.
    private var patience: Interval {
        guard rounds > 0 else { return usualTime }
        if repeatability == .withKey { return Self.look }
        let grown = Interval(microseconds: usualTime.microseconds << min(rounds, 6))
        return max(usualTime, min(max(grown, .milliseconds(100)), .seconds(1)))
    }

    /// What to do after an event.
    ///
    /// - Parameters:
    ///   - jitter: Any number from 0.
    ///   - takeRepeat: Takes one repeat of a slow call from the budget.
    mutating func step(after event: Event, jitter: Int64, takeRepeat: () -> Bool = { true }) -> Step {
        switch event {
        case .silence(let isConnected, let isLost, let isInstanceLost, let elapsed):
            guard isConnected else { return .wait(.milliseconds(50)) }
            rounds += 1
            if isLost, isRepeatable {
                lost += awaited
                awaited = 0
                return .send(after: .zero)
            }
            // Of those that are found silent or ended one may have had it.
            if isInstanceLost, isRepeatable { return .send(after: .zero) }
            let isDue =
                switch repeatability {
                case .never: false
                case .withKey: slowRepeats == 0 && elapsed >= Self.longSilence
                case .idempotent: slowRepeats < Self.mostSlowRepeats
                }
            guard isDue, takeRepeat() else { return .wait(patience) }
            slowRepeats += 1
            return .send(after: .zero)
        case .refused(let isLasting):
            awaited = max(0, awaited - 1)
            // Asked for a longer pause, nothing is won by repeating at once.
            if !isLasting, takeRetry() { return .send(after: .milliseconds(2 + jitter % 20)) }
            return awaited > 0 || (repeatability == .withKey && !isSettled) ? .wait(patience) : .fail
        case .declined:
            awaited = max(0, awaited - 1)
            // What is declared idempotent, reads above all, is answered the same by every sending.
            return repeatability == .withKey && !isSettled ? .wait(patience) : .fail
        case .inProgress:
            awaited = max(0, awaited - 1)
            guard isRepeatable else { return .fail }
            waits += 1
            return .send(after: .milliseconds(min(250, 10 << Int64(min(waits, 5))) + jitter % 20))
        case .unsent:
            // By then the library knows that it is disconnected, and buffers what is published.
            return takeRetry() ? .send(after: .milliseconds(50 + jitter % 50)) : .fail
        case .gone:
            awaited = max(0, awaited - 1)
            return .send(after: .zero)
        case .noResponders(let isHealing, let knowsInstances):
            awaited = max(0, awaited - 1)
            if isHealing { return .send(after: .milliseconds(20 + jitter % 20)) }
            // Those that were sent before are with an instance that is stopping, or were lost with one that has ended.
            if awaited > 0, knowsInstances { return .wait(patience) }
            return awaited == 0 && takeRetry() ? .send(after: .milliseconds(10 + jitter % 20)) : .fail
        }
    }

    /// One retry a call, so that a refusal is not answered by a flood.
    private mutating func takeRetry() -> Bool {
        defer { hasRetried = true }
        return isRepeatable && !hasRetried
    }
}
