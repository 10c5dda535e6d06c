internal import Kernel
internal import Logging
internal import Outbox
internal import Runtime
internal import ServiceRuntime
private import Synchronization

/// Up to which instant the facts of other services are known here: zones and accounts of `auth`, plans of `billing`, circles of `social`.
///
/// Settlement must not break a streak by a zone that was changed long ago, only because the event is still to be consumed. So it asks for the
/// ends of the streams and goes on when they have been consumed up to there. What is in no stream yet is not waited for: it comes late, and
/// what was settled without it is settled again (SD-6).
package final class KnownFacts: Sendable {
    /// How long settlement waits for what was in the streams, or for a broker that does not say: then it goes on with what is known.
    static let longestWait = Duration.seconds(600)
    /// How long the start of a replica waits.
    static let longestStart = Duration.seconds(10)

    /// Where the streams end.
    typealias Ends = [String: Int]
    private let ends: @Sendable () async throws -> Ends
    private let hasConsumed: @Sendable (Ends) async throws -> Bool
    private let now: @Sendable () -> Instant
    private let logger: Logger
    private let waits: Counter
    private let state = Mutex(State())

    private struct State {
        /// Everything up to then is known, or was waited for long enough.
        var through: Instant?
        var question: Question?
    }

    private struct Question: Sendable {
        let at: Instant
        let asked: ContinuousClock.Instant
        /// nil while the broker does not answer.
        var ends: Ends?
    }

    /// - Parameter feature: the one that consumes the facts.
    convenience init(feature: String, _ environment: ServiceEnvironment) {
        let events = environment.events
        self.init(
            ends: { try await events.ends(of: feature) },
            hasConsumed: { try await events.hasConsumed(feature, upTo: $0) },
            now: { [clock = environment.clock] in clock.now() },
            logger: environment.logger,
            metrics: environment.metrics
        )
    }

    init(
        ends: @escaping @Sendable () async throws -> Ends,
        hasConsumed: @escaping @Sendable (Ends) async throws -> Bool,
        now: @escaping @Sendable () -> Instant,
        logger: Logger,
        metrics: Metrics
    ) {
        (self.ends, self.hasConsumed, self.now, self.logger) = (ends, hasConsumed, now, logger)
        waits = metrics.counter(
            "streaksnap_settlement_facts_missing_total",
            help: "Times that settlement went on although events that it had waited for were not consumed."
        )
    }

    /// Up to when facts are known.
    ///
    /// - Parameter enough: what was found before is enough if it reaches to here.
    func through(_ instant: Instant, atLeast enough: Instant) async -> Instant {
        // What was asked before is answered first; that may be too long ago.
        for _ in 0..<2 {
            if let known = state.withLock({ $0.through }), known >= enough { return known }
            guard await answer(state.withLock { $0.question } ?? Question(at: instant, asked: .now)) else { break }
        }
        return state.withLock { $0.through } ?? .epoch
    }

    /// - Returns: whether everything up to the question is known, or was waited for long enough.
    private func answer(_ open: Question) async -> Bool {
        var question = open
        if question.ends == nil { question.ends = try? await ends() }
        var isKnown = false
        if let ends = question.ends { isKnown = (try? await hasConsumed(ends)) ?? false }
        let isOver = isKnown || ContinuousClock.now - question.asked >= Self.longestWait
        if isOver, !isKnown {
            waits.increment()
            logger.warning("dates are settled without events that have not been consumed")
        }
        state.withLock { [question] state in
            if isOver { state.through = max(state.through ?? question.at, question.at) }
            state.question = isOver ? nil : question
        }
        return isOver
    }

    /// Waits until what was in the streams at the start has been consumed, so that no request settles a date without it.
    package func catchUp() async {
        let (start, begun) = (now(), ContinuousClock.now)
        while await through(start, atLeast: start) < start, ContinuousClock.now - begun < Self.longestStart {
            do { try await Task.sleep(for: .milliseconds(50)) } catch { return }
        }
    }
}
