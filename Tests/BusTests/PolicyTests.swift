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

    @Test func `a refusal that names no request ends all of them`() throws {
        var loop = PullLoop(batch: 10, expiry: .seconds(10))
        let first = loop.next(now: at(0))
        #expect(first?.batch == 10)
        for _ in 0..<5 { loop.received(now: at(1)) }
        loop.handled(5)
        let second = loop.next(now: at(1))
        #expect(second?.batch == 10)
        loop.refused(now: at(2))
        #expect(loop.wakeAt == at(202), "two refusals")
        let tooEarly = loop.next(now: at(201))
        let third = loop.next(now: at(202))
        #expect(tooEarly == nil && third?.batch == 10)
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
        #expect(loop.wakeAt == at(20_500))
        #expect(loop.next(now: at(20_499)) == nil)
        #expect(loop.next(now: at(20_500)) == .init(id: 3, batch: 10), "silence for two heartbeats")
        loop.reconnected()
        #expect(loop.next(now: at(20_501)) == .init(id: 4, batch: 10))
        loop.stop()
        loop.reconnected()
        #expect(loop.next(now: at(20_502)) == nil)
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
    private let silence = Self.silence()

    private static func silence(
        isConnected: Bool = true,
        isLost: Bool = false,
        isInstanceLost: Bool = false,
        after elapsed: Interval = .milliseconds(100)
    ) -> CallPolicy.Event {
        .silence(isConnected: isConnected, isLost: isLost, isInstanceLost: isInstanceLost, elapsed: elapsed)
    }

    /// A call that was sent once.
    private func policy(_ repeatability: Repeatability, usualTime: Interval = .milliseconds(40)) -> CallPolicy {
        var policy = CallPolicy(repeatability, usualTime: usualTime)
        _ = policy.sent()
        return policy
    }

    @Test func `what may have had an effect is sent again only when it may be repeated`() {
        var change = policy(.never)
        for event in [CallPolicy.Event.refused(isLasting: false), .declined, .inProgress, .unsent] {
            #expect(change.step(after: event, jitter: 3) == .fail, "\(event)")
        }
        #expect(change.step(after: silence, jitter: 3) == .wait(.milliseconds(100)))
        #expect(change.step(after: Self.silence(isLost: true), jitter: 3) == .wait(.milliseconds(160)))
        var read = policy(.idempotent)
        #expect(read.step(after: silence, jitter: 3) == .send(after: .zero))
        var lost = policy(.idempotent)
        let noBudget = { false }
        #expect(lost.step(after: Self.silence(isConnected: false), jitter: 3) == .wait(.milliseconds(50)))
        let step = lost.step(after: Self.silence(isLost: true), jitter: 3, takeRepeat: noBudget)
        #expect(step == .send(after: .zero), "what the broker lost costs no budget")
    }

    @Test func `a slow call is sent again at most three times, ever later, and only within the budget`() {
        var policy = CallPolicy(.idempotent, usualTime: .milliseconds(80))
        var waits: [Interval] = []
        for _ in 0..<4 {
            waits.append(policy.sent())
            if waits.count < 4 { #expect(policy.step(after: silence, jitter: 0) == .send(after: .zero)) }
        }
        #expect(waits == [80, 160, 320, 640].map { .milliseconds($0) })
        #expect(policy.step(after: silence, jitter: 0) == .wait(.seconds(1)))
        var poor = self.policy(.idempotent)
        #expect(poor.step(after: silence, jitter: 0) { false } == .wait(.milliseconds(100)))
        #expect(poor.step(after: silence, jitter: 0) { true } == .send(after: .zero), "the budget has room again")
        var slow = CallPolicy(.idempotent, usualTime: .seconds(3))
        #expect(slow.sent() == .seconds(3))
        _ = slow.step(after: silence, jitter: 0)
        #expect(slow.sent() == .seconds(3))
    }

    @Test func `a change with a key is sent again when its instance is probably lost, not because it is slow`() {
        var slow = policy(.withKey)
        for elapsed in stride(from: Int64(100), to: 2_000, by: 300) {
            let step = slow.step(after: Self.silence(after: .milliseconds(elapsed)), jitter: 0)
            #expect(step == .wait(.milliseconds(150)), "\(elapsed)")
        }
        #expect(slow.step(after: Self.silence(after: .seconds(2)), jitter: 0) == .send(after: .zero), "without a sign")
        _ = slow.sent()
        #expect(slow.step(after: Self.silence(after: .seconds(3)), jitter: 0) == .wait(.milliseconds(150)), "once")
        var frozen = policy(.withKey)
        #expect(frozen.step(after: Self.silence(isInstanceLost: true), jitter: 0) == .send(after: .zero))
        var read = policy(.idempotent)
        for _ in 0..<3 { #expect(read.step(after: silence, jitter: 0) == .send(after: .zero)) }
        #expect(read.step(after: silence, jitter: 0) != .send(after: .zero))
        let late = read.step(after: Self.silence(isInstanceLost: true), jitter: 0) { false }
        #expect(late == .send(after: .zero), "a read too, whatever was sent before")
        var lost = policy(.withKey)
        #expect(lost.step(after: Self.silence(isLost: true), jitter: 0) == .send(after: .zero))
    }

    @Test func `a refusal is followed by one retry, but not when a longer pause was asked for`() {
        var read = policy(.idempotent)
        #expect(read.step(after: .refused(isLasting: false), jitter: 3) == .send(after: .milliseconds(5)))
        _ = read.sent()
        #expect(read.step(after: .refused(isLasting: false), jitter: 3) == .fail, "once")
        var lasting = policy(.idempotent)
        #expect(lasting.step(after: .refused(isLasting: true), jitter: 3) == .fail)
        var two = policy(.idempotent)
        _ = two.step(after: silence, jitter: 0)
        _ = two.sent()
        #expect(
            two.step(after: .refused(isLasting: true), jitter: 3) == .wait(.milliseconds(100)),
            "the other sending may succeed"
        )
        var unsent = policy(.idempotent)
        #expect(unsent.step(after: .unsent, jitter: 3) == .send(after: .milliseconds(53)))
        #expect(unsent.step(after: .unsent, jitter: 3) == .fail)
    }

    @Test func `a change's refusal is the answer when no other sending may still be made`() {
        var one = policy(.withKey)
        #expect(one.step(after: .declined, jitter: 0) == .fail && one.isSettled)
        var two = policy(.withKey)
        #expect(two.step(after: Self.silence(after: .seconds(2)), jitter: 0) == .send(after: .zero))
        _ = two.sent()
        #expect(two.step(after: .declined, jitter: 0) == .wait(.milliseconds(150)) && !two.isSettled)
        #expect(two.step(after: .inProgress, jitter: 0) == .send(after: .milliseconds(20)))
        _ = two.sent()
        #expect(two.step(after: .declined, jitter: 0) == .fail && two.isSettled)
        var ended = policy(.withKey)
        #expect(ended.step(after: Self.silence(isInstanceLost: true), jitter: 0) == .send(after: .zero))
        _ = ended.sent()
        #expect(ended.step(after: .gone, jitter: 0) == .send(after: .zero), "no instance had that one")
        _ = ended.sent()
        #expect(ended.step(after: .declined, jitter: 0) == .wait(.milliseconds(150)), "the first may be made")
    }

    @Test(arguments: [CallPolicy.Event.declined, .refused(isLasting: true)])
    func `what a change is refused with is no answer while a sending is lost with its connection`(event: CallPolicy.Event) {
        var lost = policy(.withKey)
        #expect(lost.step(after: Self.silence(isLost: true), jitter: 0) == .send(after: .zero))
        _ = lost.sent()
        #expect(lost.step(after: event, jitter: 0) == .wait(.milliseconds(150)) && !lost.isSettled)
        #expect(lost.step(after: Self.silence(after: .seconds(2)), jitter: 0) == .send(after: .zero), "it may have been made")
    }

    @Test func `a read waits for no other answer`() {
        var read = policy(.idempotent)
        _ = read.step(after: silence, jitter: 0)
        _ = read.sent()
        #expect(read.step(after: .declined, jitter: 0) == .fail)
    }

    @Test func `a call waits for the one that is being worked on`() {
        var change = policy(.idempotent)
        var pauses: [Interval] = []
        for _ in 0..<7 {
            guard case .send(let pause) = change.step(after: .inProgress, jitter: 0) else { continue }
            pauses.append(pause)
            _ = change.sent()
        }
        #expect(pauses == [20, 40, 80, 160, 250, 250, 250].map { .milliseconds($0) })
    }

    @Test func `what no instance got is sent again, whatever it is`() {
        var change = policy(.never)
        #expect(change.step(after: .gone, jitter: 1) == .send(after: .zero))
        _ = change.sent()
        let healing = CallPolicy.Event.noResponders(isHealing: true, knowsInstances: false)
        for _ in 0..<2 {
            #expect(change.step(after: healing, jitter: 1) == .send(after: .milliseconds(21)))
            _ = change.sent()
        }
        let away = CallPolicy.Event.noResponders(isHealing: false, knowsInstances: false)
        #expect(change.step(after: away, jitter: 0) == .fail)
        var read = policy(.idempotent)
        #expect(read.step(after: away, jitter: 1) == .send(after: .milliseconds(11)))
        _ = read.sent()
        #expect(read.step(after: away, jitter: 1) == .fail, "one more look")
    }

    @Test func `without responders a call waits only for an instance that may be stopping`() {
        var stopping = policy(.idempotent)
        _ = stopping.step(after: silence, jitter: 0)
        _ = stopping.sent()
        #expect(
            stopping.step(after: .noResponders(isHealing: false, knowsInstances: true), jitter: 0) == .wait(.milliseconds(100))
        )
        var killed = policy(.idempotent)
        _ = killed.step(after: silence, jitter: 0)
        _ = killed.sent()
        #expect(killed.step(after: .gone, jitter: 0) == .send(after: .zero))
        _ = killed.sent()
        #expect(killed.step(after: .noResponders(isHealing: false, knowsInstances: false), jitter: 0) == .fail)
    }
}
