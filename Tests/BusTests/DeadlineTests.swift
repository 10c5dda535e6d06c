import Foundation
import Kernel
import TestSupport
import Testing

@testable import Bus

/// Deadlines that threads set at once: the earliest counts, whichever is set last.
@Suite struct DeadlineTests {
    private struct Due: TimedValue {
        var wakeAt: Tick?
    }

    /// In each round twelve threads give earlier and earlier deadlines, all far away; one of them gives a near one in between. A thread that
    /// sets the timer outside the lock of its deadline may set it to a far one last.
    ///
    /// - Parameter give: Is called with the round and the deadline.
    private func crowd(rounds: Int, _ give: @escaping @Sendable (_ round: Int, _ deadline: Tick, _ isNear: Bool) -> Void) async {
        let (threads, each) = (12, 40)
        let given = Shared(0)
        let far = Tick.now() + .seconds(3_600)
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<threads {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        // Threads of their own: they wait for each other, which those of a pool must not.
                        Thread.detachNewThread {
                            for round in 0..<rounds {
                                while given.value < threads * each * round { sched_yield() }
                                for step in 0..<each {
                                    let isNear = thread == 0 && step == each / 2
                                    let number = given.update { count in
                                        count += 1
                                        return UInt64(count)
                                    }
                                    let next = Tick(nanoseconds: far.nanoseconds - number * 1_000_000)
                                    give(round, isNear ? Tick.now() + .milliseconds(100) : next, isNear)
                                }
                            }
                            continuation.resume()
                        }
                    }
                }
            }
        }
    }

    @Test func `a request ends in time while others are opened`() async {
        let rounds = 600
        let requests = (0..<rounds).map { _ in PendingRequests(inboxPrefix: "_INBOX.test") }
        let opened = Shared<[Int: UInt64]>([:])
        await crowd(rounds: rounds) { round, deadline, isNear in
            guard let token = try? requests[round].open(until: deadline), isNear else { return }
            opened.update { $0[round] = token }
        }
        let expired = Shared(0)
        let waiting = Task {
            await withTaskGroup(of: Void.self) { group in
                for (round, token) in opened.value {
                    group.addTask { if case .expired = await requests[round].outcome(of: token) { expired.update { $0 += 1 } } }
                }
            }
        }
        await #expect(throws: Never.self) {
            try await eventually("all end") { expired.value == rounds }
        }
        for pending in requests { pending.close() }
        await waiting.value
    }

    @Test func `work is cancelled in time whatever else is admitted meanwhile`() async {
        let rounds = 600
        let work = (0..<rounds).map { _ in ServiceWork(mostInFlight: 1_000) }
        let tasks = Shared<[Task<Void, Never>]>([])
        let cancelled = Shared(0)
        await crowd(rounds: rounds) { round, deadline, isNear in
            guard case .run(let token) = work[round].admit(until: deadline), isNear else { return }
            let task = Task {
                try? await Task.sleep(for: .seconds(600))
                cancelled.update { $0 += 1 }
            }
            work[round].attach(token, task)
            tasks.update { $0.append(task) }
        }
        await #expect(throws: Never.self) {
            try await eventually("all are cancelled") { cancelled.value == rounds }
        }
        for task in tasks.value { task.cancel() }
        withExtendedLifetime(work) {}
    }

    @Test func `the timer rings for each time that the value has`() async throws {
        let value = TimedMutex(Due(), label: "test")
        let rings = Shared<[Tick]>([])
        value.onWake { [weak value] in
            let due = value?.withLock { value -> Tick? in
                guard let due = value.wakeAt, due <= .now() else { return nil }
                value.wakeAt = nil
                return due
            }
            if let due { rings.update { $0.append(due) } }
        }
        let start = Tick.now()
        // The later time first, then an earlier one, then a later one again: the timer is at the earliest, rings early and is set again.
        value.withLock { $0.wakeAt = start + .seconds(60) }
        value.withLock { $0.wakeAt = start + .milliseconds(20) }
        value.withLock { $0.wakeAt = start + .milliseconds(60) }
        try await eventually("it rings") { rings.value.last == start + .milliseconds(60) }
        #expect(Tick.now() >= start + .milliseconds(60))
        value.withLock { $0.wakeAt = start }
        try await eventually("it rings for what is due already") { rings.value.last == start }
        withExtendedLifetime(value) {}
    }
}

/// What must not be guessed.
@Suite struct EntropyTests {
    @Test func `tokens of requests are words of chance`() throws {
        let requests = PendingRequests(inboxPrefix: "_INBOX.test")
        let count = 4_096
        let tokens = try (0..<count).map { _ in try requests.open(until: Tick.now() + .seconds(60)) }
        #expect(Set(tokens).count == count)
        // Each of the 64 bits is set in half of them; 8 standard deviations either way.
        for bit in 0..<64 {
            let ones = tokens.count { $0 >> UInt64(bit) & 1 == 1 }
            #expect((count / 2 - 256...count / 2 + 256).contains(ones), "bit \(bit): \(ones)")
        }
        // Nor does one show the next: neighbours differ in half of their bits.
        let changes = zip(tokens, tokens.dropFirst()).map { ($0 ^ $1).nonzeroBitCount }.reduce(0, +)
        #expect((31.0...33.0).contains(Double(changes) / Double(count - 1)))
        requests.close()
    }

    @Test func `a reply subject is sixteen digits below the inbox and then whose reply it is`() throws {
        let requests = PendingRequests(inboxPrefix: "_INBOX.test")
        let prefix = String(requests.subject.dropLast(3))
        #expect(requests.subject.hasSuffix(".*.*"))
        #expect(prefix.hasPrefix("_INBOX.test.") && prefix.count == "_INBOX.test.".count + 33)
        #expect(requests.replySubject(0xAB) == prefix + "00000000000000ab.any")
        #expect(requests.replySubject(.max) == prefix + "ffffffffffffffff.any")
        let instance = InstanceID(number: 0x1F)
        #expect(requests.replySubject(1, instance: instance) == prefix + "0000000000000001.000000000000001f")
        #expect(PendingRequests(inboxPrefix: "_INBOX.test").subject != requests.subject)
    }

    @Test func `an instance appends its id to the subject of its reply, and nothing else is read as one`() {
        let instance = InstanceID(number: 0xFE)
        for ours in ["_INBOX.a.00000000000000ab.any", "_INBOX.a.00000000000000ab.00000000000000ff"] {
            #expect(ReplySubject.from(instance, ours) == ours + ".00000000000000fe")
        }
        for other in [
            "_INBOX.a.1.any", "_INBOX.a.1.00000000000000ff", "_INBOX.a", "_INBOX.many", "_INBOX.a.00000000000000ab.one", ".any",
            "any", "",
            "00000000000000ab.any", "_INBOX.a.00000000000000AB.any",
        ] { #expect(ReplySubject.from(instance, other) == other) }
        #expect(ReplySubject.instance("_INBOX.a.1.00000000000000fe") == instance)
        for other in ["_INBOX.a.1.any", "_INBOX.a.1.0000000000000FFE", "short", ""] {
            #expect(ReplySubject.instance(other) == nil)
        }
    }
}
