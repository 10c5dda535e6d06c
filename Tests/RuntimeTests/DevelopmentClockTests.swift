import Bus
import Foundation
import Kernel
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Runtime

/// Counts what is logged as a warning.
private struct WarningCounter: LogHandler {
    let count: CountedWarnings
    var logLevel = Logger.Level.debug
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { if event.level == .warning { count.warnings.add(1, ordering: .relaxed) } }
}

private final class CountedWarnings: Sendable {
    let warnings = Atomic(0)
    var logger: Logger { Logger(label: "clock") { _ in WarningCounter(count: self) } }
    var count: Int { warnings.load(ordering: .relaxed) }
}

/// The development clock on a bus where any client may publish anything (PF-7).
@Suite(.timeLimit(.minutes(10))) struct DevelopmentClockTests {
    /// Offsets that lead beyond the year 9999, up to where 64 bits end.
    private static let unusable: [Int64] = [.max, .max - 1, .max / 2, DevelopmentClock.longestShift.microseconds + 1]

    private func bus(_ server: NatsServer) async throws -> BusConnection {
        try await BusConnection.connect(BusConfiguration(url: server.url, name: "clock"), logger: CountedWarnings().logger)
    }

    @Test func `no offset moves the clock to where arithmetic ends`() {
        let clock = DevelopmentClock()
        for offset in Self.unusable { #expect(!clock.shift(to: Interval(microseconds: offset))) }
        #expect(clock.shift == .zero)
        #expect(clock.shift(to: Interval(microseconds: .min)) && clock.shift == .zero, "never back")
        #expect(clock.shift(to: DevelopmentClock.longestShift))
        #expect(clock.now() >= DevelopmentClock.latest)
        #expect(
            clock.now() + .days(365_000) < Instant.writable.upperBound,
            "a thousand years are left for what is worked out from it"
        )
    }

    @Test func `a replica ignores and logs what is no offset, and follows the next one`() async throws {
        let server = try await NatsServer.start()
        let (mine, theirs) = (try await bus(server), try await bus(server))
        let (clock, logged) = (DevelopmentClock(), CountedWarnings())
        let settled = Atomic(0)
        let agent = DevelopmentClockAgent(service: "test", clock: clock, bus: mine, logger: logged.logger) {
            DevelopmentClockAgent.Work(done: 7, underWay: settled.add(1, ordering: .relaxed).newValue)
        }
        try agent.listen()
        try await mine.flush(within: .seconds(60))
        let texts =
            Self.unusable.map(String.init) + ["9223372036854775808", "-9223372036854775809", "", "soon", "1e9", "1 ", "\u{0}"]
        for text in texts { try theirs.publish(DevelopmentClockAgent.subject, body: Array(text.utf8), reply: "_INBOX.none") }
        try theirs.publish(DevelopmentClockAgent.subject, body: [0xFF, 0x80], reply: "_INBOX.none")
        try await JetStream(connection: theirs).ensureStream(DevelopmentClockState.configuration)
        #expect(try await DevelopmentClockState(bus: theirs).store(.seconds(90), after: 0))
        // One delivery thread: its answer comes after all of those were looked at.
        let answers = try await theirs.scatter(
            DevelopmentClockAgent.subject,
            body: Array("90000000".utf8),
            for: .seconds(30),
            atMost: 1
        )
        #expect(answers.map { String(decoding: $0.body, as: UTF8.self) } == ["test 7 1"])
        #expect(clock.shift == .seconds(90) && settled.load(ordering: .relaxed) == 1)
        #expect(logged.count == texts.count + 1)
        await theirs.close()
        await mine.close()
    }

    @Test func `a stored offset that no clock could follow is ignored and logged`() async throws {
        let server = try await NatsServer.start()
        let bus = try await bus(server)
        let logged = CountedWarnings()
        let state = DevelopmentClockState(bus: bus, logger: logged.logger)
        try await JetStream(connection: bus).ensureStream(DevelopmentClockState.configuration)
        #expect(try await state.store(.seconds(90), after: 0))
        #expect(try await state.load() == .seconds(90) && logged.count == 0)
        for (index, offset) in Self.unusable.enumerated() {
            #expect(try await state.store(Interval(microseconds: offset), after: index + 1))
            #expect(try await state.load() == .zero && logged.count == index + 1)
        }
        await bus.close()
    }

    @Test func `an offset that was broadcast and not stored moves no clock`() async throws {
        let server = try await NatsServer.start()
        let bus = try await bus(server)
        try await JetStream(connection: bus).ensureStream(DevelopmentClockState.configuration)
        let state = DevelopmentClockState(bus: bus)
        #expect(try await state.store(.seconds(90), after: 0))
        #expect(try await !state.store(.hours(50), after: 0), "the broker refuses the second of two who knew the same")
        let logged = CountedWarnings()
        let clocks = (0..<3).map { _ in DevelopmentClock() }
        for clock in clocks {
            try DevelopmentClockAgent(service: "test", clock: clock, bus: bus, logger: logged.logger) {
                .init(done: 0, underWay: 0)
            }.listen()
        }
        try await bus.flush(within: .seconds(60))
        try bus.publish(
            DevelopmentClockAgent.subject,
            body: Array("\(Interval.hours(50).microseconds)".utf8),
            reply: "_INBOX.none"
        )
        try await eventually("each has refused it") { logged.count == 3 }
        #expect(clocks.allSatisfy { $0.shift == .zero })
        let followed = try await bus.scatter(
            DevelopmentClockAgent.subject,
            body: Array("\(Interval.seconds(90).microseconds)".utf8),
            for: .seconds(30),
            atMost: 3
        )
        #expect(followed.count == 3 && clocks.allSatisfy { $0.shift == .seconds(90) })
        await bus.close()
    }

    /// Processes of one environment, each with a clock of its own and a connection of its own, that follow what is stored.
    private func withFollowers(
        restoring: Bool = false,
        _ body: (NatsServer, BusConnection, [DevelopmentClock]) async throws -> Void
    ) async throws {
        let server = try await NatsServer.start()
        let bus = try await bus(server)
        try await JetStream(connection: bus).ensureStream(DevelopmentClockState.configuration)
        var (clocks, buses, tasks): ([DevelopmentClock], [BusConnection], [Task<Void, Never>]) = ([], [], [])
        for index in 0..<3 {
            let (clock, own) = (DevelopmentClock(), try await self.bus(server))
            let follower = DevelopmentClockFollower(
                clock: clock,
                bus: own,
                logger: CountedWarnings().logger,
                restoresState: restoring && index == 0,
                interval: .milliseconds(100)
            )
            tasks.append(Task { await follower.run() })
            clocks.append(clock)
            buses.append(own)
        }
        try await body(server, bus, clocks)
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
        for own in buses + [bus] { await own.close() }
    }

    @Test func `all follow an offset that was stored by one who was killed before it said so`() async throws {
        try await withFollowers { server, bus, clocks in
            #expect(try await DevelopmentClockState(bus: bus).store(.days(3), after: 0))
            try await eventually("all agree") { clocks.allSatisfy { $0.shift == .days(3) } }
            await server.kill()
            try await server.start()
            let state = DevelopmentClockState(bus: bus)
            try await eventually("the next is stored") {
                guard let stored = try? await state.read() else { return false }
                return (try? await state.store(.days(4), after: stored.sequence)) == true
            }
            try await eventually("all agree also after the broker was away") { clocks.allSatisfy { $0.shift == .days(4) } }
            #expect(try await state.load() == .days(4), "and so does one that starts now")
        }
    }

    @Test func `an offset that the broker has lost is stored again by the gateway`() async throws {
        try await withFollowers(restoring: true) { server, bus, clocks in
            let state = DevelopmentClockState(bus: bus)
            // A broker on a busy machine may answer late.
            try await eventually("it is stored") {
                if (try? await state.load()) == .days(3) { return true }
                return (try? await state.store(.days(3), after: 0)) == true
            }
            try await eventually("all agree") { clocks.allSatisfy { $0.shift == .days(3) } }
            // As a disk is lost. nats-server 2.9 now and then answers nothing more after the deletion of a stream that others ask for.
            await server.kill()
            try FileManager.default.removeItem(at: server.files.appending(path: "store"))
            try await server.start()
            try await eventually("there is a new stream") {
                // nats-server 2.9 ends by a nil pointer when a message is read of a stream that is just being made: a supervisor starts it again.
                if server.hasExited { try? await server.start() }
                return (try? await JetStream(connection: bus).ensureStream(DevelopmentClockState.configuration)) != nil
            }
            try await eventually("it is stored again") { (try? await state.load()) == .days(3) }
            #expect(clocks.allSatisfy { $0.shift == .days(3) })
        }
    }

    /// Gateways of one environment, each with a clock of its own.
    private func withGateways(
        _ count: Int,
        _ body: ([DevelopmentClockCoordinator], [DevelopmentClock]) async throws -> Void
    ) async throws {
        let server = try await NatsServer.start()
        let bus = try await bus(server)
        try await JetStream(connection: bus).ensureStream(DevelopmentClockState.configuration)
        let clocks = (0..<count).map { _ in DevelopmentClock() }
        try await body(clocks.map { DevelopmentClockCoordinator(bus: bus, clock: $0) }, clocks)
        await bus.close()
        withExtendedLifetime(server) {}
    }

    @Test(arguments: [1, 3]) func `steps that are asked for at once add up, in one gateway and in several`(gateways: Int)
        async throws
    {
        try await withGateways(gateways) { coordinators, clocks in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for index in 0..<10 {
                    tasks.addTask { try await coordinators[index % gateways].advance(by: .seconds(100), replicas: 0) }
                }
                try await tasks.waitForAll()
            }
            #expect(clocks.map(\.shift).max() == .seconds(1_000))
            let late = DevelopmentClock()
            let restored = DevelopmentClockCoordinator(bus: coordinators[0].bus, clock: late)
            try await restored.restore()
            #expect(late.shift == .seconds(1_000), "and is what a gateway that starts later takes up")
        }
    }

    @Test func `of several who set the clock at once each moves it or gets an error`() async throws {
        try await withGateways(2) { coordinators, clocks in
            let start = SystemClock.now()
            let targets = (1...8).map { start + .hours(Int64($0)) }
            let refused = try await withThrowingTaskGroup(of: Instant?.self) { tasks in
                for (index, target) in targets.enumerated() {
                    tasks.addTask {
                        do {
                            try await coordinators[index % 2].set(to: target, replicas: 0)
                            return nil
                        } catch let error as ServiceError where error.details.map(\.field) == ["set"] { return target }
                    }
                }
                return try await tasks.reduce(into: [Instant]()) { list, target in if let target { list.append(target) } }
            }
            #expect(!refused.contains(targets[7]), "none moved it beyond the last")
            let shift = try #require(clocks.map(\.shift).max())
            #expect(abs((shift - .hours(8)).seconds) < 60)
        }
    }

    /// Replicas that have nothing to do when they are asked, and what they have done by then: one more at each question, for some questions.
    @Test(arguments: [false, true]) func `what was done between two questions is not quiet in a private environment`(
        isPrivate: Bool
    )
        async throws
    {
        let server = try await NatsServer.start()
        let bus = try await bus(server)
        try await JetStream(connection: bus).ensureStream(DevelopmentClockState.configuration)
        let clock = DevelopmentClock()
        let asked = Atomic(0)
        let agent = DevelopmentClockAgent(service: "test", clock: clock, bus: bus, logger: CountedWarnings().logger) {
            .init(done: min(asked.add(1, ordering: .relaxed).newValue, 5), underWay: 0)
        }
        try agent.listen()
        let coordinator = DevelopmentClockCoordinator(bus: bus, clock: clock, isPrivate: isPrivate)
        try await coordinator.waitUntilQuiet(replicas: 1)
        #expect(asked.load(ordering: .relaxed) == (isPrivate ? 6 : 2))
        #expect(clock.shift == .zero, "nothing is moved")
        try await coordinator.advance(by: .seconds(90), replicas: 1)
        #expect(clock.shift == .seconds(90) && asked.load(ordering: .relaxed) == (isPrivate ? 8 : 4))
        await bus.close()
    }

    /// A replica that says in `$SRV.INFO` that it obeys the clock, and answers that it has nothing to do, except at its first question.
    ///
    /// - Parameters:
    ///   - counted: how often it was asked for its information.
    ///   - asked: how often it was asked to settle.
    ///   - leaves: after its first answer it is gone.
    private func replica(on bus: BusConnection, counted: CountedWarnings, asked: CountedWarnings, leaves: Bool = false) throws {
        _ = try bus.subscribe("$SRV.INFO") { message in
            guard let reply = message.reply, !leaves || asked.count == 0 else { return }
            counted.warnings.add(1, ordering: .relaxed)
            try? bus.publish(reply, body: Array("{\"metadata\":{\"\(DevelopmentClockAgent.mark)\":\"yes\"}}".utf8))
        }
        _ = try bus.subscribe(DevelopmentClockAgent.subject) { message in
            let before = asked.warnings.add(1, ordering: .relaxed).oldValue
            guard let reply = message.reply, !leaves || before == 0 else { return }
            try? bus.publish(reply, body: Array("test \(min(before, 20)) \(before == 0 ? 1 : 0)".utf8))
        }
    }

    @Test func `replicas are not counted at each question, and one that leaves is not waited for`() async throws {
        let server = try await NatsServer.start()
        let bus = try await bus(server)
        try await JetStream(connection: bus).ensureStream(DevelopmentClockState.configuration)
        let (counted, asked) = (CountedWarnings(), CountedWarnings())
        try replica(on: bus, counted: counted, asked: asked)
        try await bus.flush(within: .seconds(60))
        let clock = DevelopmentClock()
        try await DevelopmentClockCoordinator(bus: bus, clock: clock, isPrivate: true).advance(by: .seconds(90))
        #expect(asked.count >= 22 && counted.count > 0 && counted.count < asked.count, "\(asked.count) \(counted.count)")
        let (others, left) = (CountedWarnings(), CountedWarnings())
        try replica(on: bus, counted: others, asked: left, leaves: true)
        try await bus.flush(within: .seconds(60))
        // Without counting anew it would be waited for until the hour is over.
        try await DevelopmentClockCoordinator(bus: bus, clock: clock).advance(by: .seconds(90), limit: .hours(1))
        #expect(clock.shift == .seconds(180) && left.count > 1 && others.count == 1)
        await bus.close()
    }

    @Test func `a replica that always has more to do is not quiet`() async throws {
        let server = try await NatsServer.start()
        let bus = try await bus(server)
        try await JetStream(connection: bus).ensureStream(DevelopmentClockState.configuration)
        let clock = DevelopmentClock()
        try DevelopmentClockAgent(service: "test", clock: clock, bus: bus, logger: CountedWarnings().logger) {
            .init(done: 0, underWay: 1)
        }.listen()
        let coordinator = DevelopmentClockCoordinator(bus: bus, clock: clock)
        let error = await #expect(throws: ServiceError.self) {
            try await coordinator.waitUntilQuiet(limit: .milliseconds(300), replicas: 1)
        }
        #expect(error == .deadlineExceeded)
        await bus.close()
    }

    @Test func `no step is one too, and the field of a step that cannot be is advance_seconds`() async throws {
        try await withGateways(1) { coordinators, clocks in
            try await coordinators[0].advance(by: .seconds(90), replicas: 0)
            try await coordinators[0].advance(by: .zero, replicas: 0)
            #expect(clocks[0].shift == .seconds(90))
            for step in [Interval.seconds(-1), DevelopmentClock.longestShift, Interval(microseconds: .max)] {
                let error = await #expect(throws: ServiceError.self) { try await coordinators[0].advance(by: step, replicas: 0) }
                #expect(error?.details.map(\.field) == ["advance_seconds"] && error?.reason == "VALIDATION_ERROR", "\(step)")
            }
            #expect(clocks[0].shift == .seconds(90))
        }
    }

    @Test func `the coordinator refuses a target behind the present or after the year 2099 and names the field`() async throws {
        try await withGateways(1) { coordinators, clocks in
            let past = [Instant(microseconds: .min), .epoch, SystemClock.now() - .seconds(1)]
            for target in past + [Instant(microseconds: .max), DevelopmentClock.latest + Interval(microseconds: 1)] {
                let error = await #expect(throws: ServiceError.self) { try await coordinators[0].set(to: target, replicas: 0) }
                #expect(error?.details.map(\.field) == ["set"] && error?.reason == "VALIDATION_ERROR")
            }
            #expect(clocks[0].shift == .zero)
        }
    }

    @Test func `the clock can be set to its end, to the microsecond`() async throws {
        // Time that passed while it was worked out made it a moment too late, now and then.
        for _ in 0..<20 {
            try await withGateways(1) { coordinators, clocks in
                try await coordinators[0].set(to: DevelopmentClock.latest, replicas: 0)
                #expect(clocks[0].now() >= DevelopmentClock.latest)
            }
        }
    }
}
