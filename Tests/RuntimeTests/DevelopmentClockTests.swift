import Bus
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

/// The development clock on a bus where anybody may say anything (PF-7).
@Suite(.timeLimit(.minutes(2))) struct DevelopmentClockTests {
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
        #expect(clock.now() > Instant.writable.upperBound && clock.now() + .days(365_000) > clock.now())
    }

    @Test func `a replica ignores and logs what is no offset, and follows the next one`() async throws {
        let server = try await NatsServer.start()
        let (mine, theirs) = (try await bus(server), try await bus(server))
        let (clock, logged) = (DevelopmentClock(), CountedWarnings())
        let settled = Atomic(0)
        let agent = DevelopmentClockAgent(service: "test", clock: clock, bus: mine, logger: logged.logger) {
            settled.add(1, ordering: .relaxed).newValue
        }
        try agent.listen()
        try await mine.flush(within: .seconds(5))
        let texts =
            Self.unusable.map(String.init) + ["9223372036854775808", "-9223372036854775809", "", "soon", "1e9", "1 ", "\u{0}"]
        for text in texts { try theirs.publish(DevelopmentClockAgent.subject, body: Array(text.utf8), reply: "_INBOX.nobody") }
        try theirs.publish(DevelopmentClockAgent.subject, body: [0xFF, 0x80], reply: "_INBOX.nobody")
        // One delivery thread: its answer comes after all of those were looked at.
        let answers = try await theirs.scatter(
            DevelopmentClockAgent.subject,
            body: Array("90000000".utf8),
            for: .seconds(30),
            atMost: 1
        )
        #expect(answers.map { String(decoding: $0.body, as: UTF8.self) } == ["test 1"])
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
        try await state.store(.seconds(90))
        #expect(try await state.load() == .seconds(90) && logged.count == 0)
        for (index, offset) in Self.unusable.enumerated() {
            try await state.store(Interval(microseconds: offset))
            #expect(try await state.load() == .zero && logged.count == index + 1)
        }
        await bus.close()
    }

    @Test func `the coordinator refuses a target beyond the year 9999 and names the field`() async throws {
        let server = try await NatsServer.start()
        let bus = try await bus(server)
        let clock = DevelopmentClock()
        let coordinator = DevelopmentClockCoordinator(bus: bus, clock: clock)
        for target in [Instant(microseconds: .max), DevelopmentClock.latest + Interval(microseconds: 1)] {
            let error = await #expect(throws: ServiceError.self) { try await coordinator.set(to: target, replicas: 0) }
            #expect(error?.details.map(\.field) == ["set"] && error?.reason == "VALIDATION_ERROR")
        }
        #expect(clock.shift == .zero)
        await bus.close()
    }
}
