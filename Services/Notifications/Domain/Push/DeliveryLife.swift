public import Kernel

/// Where a push to one device stands.
public enum DeliveryState: Int16, CaseIterable, Hashable, Sendable {
    /// Waits to be handed to the provider.
    case queued = 0
    /// The provider has it; what has become of it is asked for later.
    case sent = 1
    /// Apple or Google has it.
    case received = 2
    /// It cannot be delivered.
    case failed = 3
    /// It was of no use any more before it was handed over.
    case expired = 4
}

/// The life of a push to one device: queued → sent → received | failed | expired.
///
/// No push is handed over a third time without an answer to the two before: the hand-over is noted before it happens, so after a crash
/// between hand-over and answer it is repeated once, and after a second one given up, because both may have arrived. An answer that refuses
/// it takes the note back: the provider has not got it.
public struct DeliveryLife: Hashable, Sendable {
    /// Hand-overs without an answer that lets a push be repeated.
    public static let mostUnanswered = 2

    public private(set) var state: DeliveryState
    /// Hand-overs to which there is no answer.
    public private(set) var unanswered: Int
    /// Attempts since it was accepted last, for the back-off.
    public private(set) var attempts: Int

    public init(state: DeliveryState = .queued, unanswered: Int = 0, attempts: Int = 0) {
        (self.state, self.unanswered, self.attempts) = (state, unanswered, attempts)
    }

    /// What has become of a hand-over.
    public enum Outcome: Hashable, Sendable {
        /// The provider gave a ticket.
        case accepted
        /// The provider has not got it, and may get it again.
        case notAccepted
        /// It can never be delivered.
        case refused
        /// No answer: the provider may have got it.
        case unanswered
    }

    /// Notes that it is handed over now. - Returns: false when it must not be: it has failed then.
    public mutating func handOver() -> Bool {
        guard state == .queued else { return false }
        guard unanswered < Self.mostUnanswered else {
            state = .failed
            return false
        }
        unanswered += 1
        attempts += 1
        return true
    }

    /// Notes the outcome of the hand-over before.
    public mutating func note(_ outcome: Outcome) {
        guard state == .queued, unanswered > 0 else { return }
        switch outcome {
        case .accepted: (state, unanswered, attempts) = (.sent, 0, 0)
        case .notAccepted: unanswered -= 1
        case .refused: (state, unanswered) = (.failed, 0)
        case .unanswered: break
        }
    }

    /// Notes what its receipt said: Apple or Google has it, or refused it for good, or wants it later, so that it is queued again.
    public mutating func note(receipt: Outcome) {
        guard state == .sent else { return }
        switch receipt {
        case .accepted: state = .received
        case .refused: state = .failed
        case .notAccepted:
            state = .queued
            attempts += 1
        case .unanswered: break
        }
    }

    /// Notes that it is of no use any more.
    public mutating func expire() {
        if state == .queued { state = .expired }
    }
}

/// When receipts are asked for.
public enum ReceiptRule {
    /// After the hand-over.
    public static let first = Interval.minutes(15)
    /// The provider deletes them then.
    public static let kept = Interval.hours(24)

    /// When to ask again for a receipt that was not there; nil: no more.
    public static func next(sentAt: Instant, now: Instant) -> Instant? {
        let age = now - sentAt
        guard age < kept else { return nil }
        // Doubling the age: 30 min, 1 h, 2 h, … and a last time just before the provider deletes it.
        let next = sentAt + max(first + first, age + age)
        return min(next, sentAt + kept - .minutes(5)) > now ? min(next, sentAt + kept - .minutes(5)) : sentAt + kept
    }
}
