import Testing

@testable import GatewayService

/// When a gateway that starts listens.
struct ReadinessTests {
    private let start = ContinuousClock.now
    private let all: Set<String> = ["auth", "social", "media"]

    /// A readiness that an expectation may change.
    private final class Trace {
        private var readiness: Readiness

        init(_ expected: Set<String>, _ now: ContinuousClock.Instant) { readiness = Readiness(expecting: expected, now: now) }

        func isReached(_ view: Readiness.View, now: ContinuousClock.Instant) -> Bool { readiness.isReached(view, now: now) }
    }

    private func view(_ known: Set<String>, answering: Set<String>? = nil, connected: Bool = true, tokens: Bool = true)
        -> Readiness.View
    {
        Readiness.View(isConnected: connected, canJudgeTokens: tokens, known: known, answering: answering ?? known)
    }

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant { start.advanced(by: .milliseconds(milliseconds)) }

    @Test func `at once when everything is known`() {
        let readiness = Trace(all, start)
        #expect(!readiness.isReached(view([]), now: at(0)))
        #expect(!readiness.isReached(view(["auth", "social"]), now: at(10)))
        #expect(readiness.isReached(view(all), now: at(20)))
    }

    @Test func `not without the bus, nor before tokens can be judged`() {
        let readiness = Trace(all, start)
        #expect(!readiness.isReached(view(all, tokens: false), now: at(60_000)))
        #expect(!readiness.isReached(view(all, connected: false), now: at(120_000)))
        #expect(readiness.isReached(view(all), now: at(120_001)))
    }

    @Test func `without a service that is away, when no other has appeared for two seconds`() {
        let readiness = Trace(all, start)
        #expect(!readiness.isReached(view(["auth"]), now: at(1_000)))
        #expect(!readiness.isReached(view(["auth", "social"]), now: at(2_500)), "more may appear")
        #expect(!readiness.isReached(view(["auth", "social"]), now: at(4_499)))
        #expect(readiness.isReached(view(["auth", "social"]), now: at(4_500)))
    }

    @Test func `not before a service that answers has brought its routes`() {
        let readiness = Trace(all, start)
        #expect(!readiness.isReached(view(["auth"], answering: ["auth", "media"]), now: at(0)))
        #expect(!readiness.isReached(view(["auth"], answering: ["auth", "media"]), now: at(9_000)))
        #expect(readiness.isReached(view(["auth"], answering: ["auth", "stranger"]), now: at(9_001)), "others do not count")
    }
}
