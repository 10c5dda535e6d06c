import Kernel
import Testing

@testable import Bus

@Suite struct PullLoopTests {
    private func at(_ milliseconds: UInt64) -> Tick { Tick(nanoseconds: milliseconds * 1_000_000) }

    @Test func `half a batch brings the next request`() {
        var loop = PullLoop(batch: 10, expiry: .seconds(10))
        #expect(loop.next(now: at(1)) == .init(id: 1, batch: 10))
        #expect(loop.next(now: at(1)) == nil, "one is enough")
        for _ in 0..<5 { loop.received(now: at(1)) }
        #expect(loop.next(now: at(2)) == nil, "five wait here, five may still come")
        loop.handled(5)
        #expect(loop.next(now: at(3)) == .init(id: 2, batch: 10))
        #expect(loop.next(now: at(3)) == nil, "never more than two")
    }

    @Test func `a slow handler is not flooded and the end of a request is no failure`() {
        var loop = PullLoop(batch: 10, expiry: .seconds(10))
        _ = loop.next(now: at(1))
        for _ in 0..<10 { loop.received(now: at(1)) }
        #expect(loop.next(now: at(2)) == nil)
        loop.handled(4)
        #expect(loop.next(now: at(3)) == nil)
        loop.handled(4)
        #expect(loop.next(now: at(4)) == .init(id: 2, batch: 8))
        loop.ended(2, status: 408, now: at(5))
        #expect(loop.next(now: at(5)) == .init(id: 3, batch: 8))
    }

    @Test func `refusals are tried less and less often`() throws {
        var loop = PullLoop(batch: 10, expiry: .seconds(10))
        var now: UInt64 = 1
        var pauses: [UInt64] = []
        for _ in 0..<8 {
            let next = loop.next(now: at(now))
            let pull = try #require(next)
            loop.ended(pull.id, status: 409, now: at(now))
            let tooEarly = loop.next(now: at(now))
            #expect(tooEarly == nil)
            let wake = try #require(loop.wakeAt)
            pauses.append(wake.nanoseconds / 1_000_000 - now)
            now = wake.nanoseconds / 1_000_000
        }
        #expect(pauses == [100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000])
    }

    /// Or its owner would be called again at once, over and over, until the handler has returned.
    @Test func `a pause that is over is no reason to wake`() throws {
        var loop = PullLoop(batch: 10, expiry: .seconds(10))
        let first = loop.next(now: at(0))
        loop.ended(try #require(first).id, status: 409, now: at(0))
        #expect(loop.wakeAt == at(100))
        let second = loop.next(now: at(100))
        #expect(second?.batch == 10)
        for _ in 0..<10 { loop.received(now: at(101)) }
        let third = loop.next(now: at(101))
        #expect(third == nil, "the handler is busy with all of them")
        #expect(loop.wakeAt == nil)
        loop.handled(10)
        let fourth = loop.next(now: at(102))
        #expect(fourth?.batch == 10)
    }

    @Test func `a request the broker lost is replaced`() {
        var loop = PullLoop(batch: 10, expiry: .seconds(10))
        _ = loop.next(now: at(0))
        for second in UInt64(1)...11 {
            loop.brokerSent(now: at(second * 1_000))
            #expect(loop.next(now: at(second * 1_000)) == nil, "the broker holds it")
        }
        #expect(loop.wakeAt == at(12_000), "its time is up and two seconds of grace")
        #expect(loop.next(now: at(12_000)) == .init(id: 2, batch: 10))
        #expect(loop.wakeAt == at(14_500))
        #expect(loop.next(now: at(14_499)) == nil)
        #expect(loop.next(now: at(14_500)) == .init(id: 3, batch: 10), "silence for two heartbeats")
        loop.reconnected()
        #expect(loop.next(now: at(14_501)) == .init(id: 4, batch: 10))
        loop.stop()
        loop.reconnected()
        #expect(loop.next(now: at(14_502)) == nil)
        #expect(loop.wakeAt == nil)
    }
}

@Suite struct WorkTableTests {
    private func at(_ milliseconds: UInt64) -> Tick { Tick(nanoseconds: milliseconds * 1_000_000) }

    @Test func `no more than the limit are admitted`() {
        var table = WorkTable<String>(mostInFlight: 2)
        #expect(table.admit(deadline: at(50)) == .run(1))
        #expect(table.admit(deadline: at(60)) == .run(2))
        #expect(table.wakeAt == at(50))
        #expect(table.admit(deadline: at(40)) == .overloaded)
        #expect(table.wakeAt == at(50), "what is refused has no deadline here")
        table.finish(1)
        #expect(table.admit(deadline: at(40)) == .run(3))
        #expect(table.wakeAt == at(40))
    }

    @Test func `a deadline cancels but keeps the place`() {
        var table = WorkTable<String>(mostInFlight: 1)
        #expect(table.admit(deadline: at(50)) == .run(1))
        let isTooLate = table.attach(1, "A")
        #expect(!isTooLate)
        var handles = table.expire(now: at(49))
        #expect(handles.isEmpty && table.wakeAt == at(50))
        handles = table.expire(now: at(50))
        #expect(handles == ["A"] && table.wakeAt == nil)
        handles = table.expire(now: at(51))
        #expect(handles.isEmpty, "cancelled once")
        #expect(table.admit(deadline: at(90)) == .overloaded)
        table.finish(1)
        #expect(table.admit(deadline: at(90)) == .run(2))
    }

    @Test func `cancellation may come before the handle and the end before both`() {
        var table = WorkTable<String>(mostInFlight: 2)
        _ = table.admit(deadline: at(50))
        let handles = table.expire(now: at(50))
        #expect(handles.isEmpty)
        let isCancelled = table.attach(1, "A")
        #expect(isCancelled)
        _ = table.admit(deadline: at(90))
        table.finish(2)
        let isLate = table.attach(2, "B")
        #expect(!isLate)
        #expect(table.count == 1)
        _ = table.admit(deadline: at(90))
        _ = table.attach(3, "C")
        #expect(table.cancelAll() == ["C"])
    }
}

@Suite struct CallPolicyTests {
    private let now = Instant(seconds: 100)
    private let deadline = Instant(seconds: 110)

    @Test func `only idempotent methods are sent twice`() {
        var change = CallPolicy(isIdempotent: false)
        #expect(change.timeout(now: now, deadline: deadline) == deadline)
        #expect(change.pause(after: .refused, jitter: 3) == nil)
        #expect(change.pause(after: .silence, jitter: 3) == nil)
        #expect(change.pause(after: .unsent, jitter: 3) == nil)
        var read = CallPolicy(isIdempotent: true)
        #expect(read.timeout(now: now, deadline: deadline) == Instant(seconds: 105))
        #expect(read.pause(after: .silence, jitter: 3) == .zero)
        #expect(read.timeout(now: now, deadline: deadline) == deadline)
        #expect(read.pause(after: .refused, jitter: 3) == nil, "once")
        var refused = CallPolicy(isIdempotent: true)
        #expect(refused.pause(after: .refused, jitter: 3) == .milliseconds(5))
        #expect(refused.pause(after: .silence, jitter: 3) == nil)
        var unsent = CallPolicy(isIdempotent: true)
        #expect(unsent.pause(after: .unsent, jitter: 3) == .milliseconds(53))
        #expect(unsent.pause(after: .unsent, jitter: 3) == nil)
    }

    @Test func `a call without responders is tried again only while the bus heals`() {
        var change = CallPolicy(isIdempotent: false)
        #expect(change.pause(after: .noResponders(isHealing: true), jitter: 1) == .milliseconds(21))
        #expect(change.pause(after: .noResponders(isHealing: true), jitter: 1) == .milliseconds(21))
        #expect(change.pause(after: .noResponders(isHealing: false), jitter: 0) == nil)
        var read = CallPolicy(isIdempotent: true)
        #expect(read.pause(after: .noResponders(isHealing: false), jitter: 1) == .milliseconds(11))
        #expect(read.pause(after: .noResponders(isHealing: false), jitter: 1) == nil, "one more look")
        #expect(read.pause(after: .noResponders(isHealing: true), jitter: 1) == .milliseconds(21))
    }
}
