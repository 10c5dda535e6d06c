import Bus
import Kernel
import TestSupport
import Testing
import Tokens

@testable import GatewayService

@Suite("Places of a stream that are missing")
struct StreamPositionTests {
    private let created = Instant(seconds: 1_700_000_000)

    private func stream(_ places: ClosedRange<Int>?, created: Instant? = nil, emptyAfter last: Int = 0) -> StreamInfo {
        StreamInfo(
            created: created ?? self.created,
            messages: places?.count ?? 0,
            firstSequence: places?.lowerBound ?? last + 1,
            lastSequence: places?.upperBound ?? last
        )
    }

    @Test func `at first all are missing, then those that came since`() {
        var position = StreamPosition()
        #expect(position.missing(stream(3...7)) == 3...7)
        position.read(upTo: 5)
        #expect(position.missing(stream(3...7)) == 6...7)
        position.read(upTo: 7)
        #expect(position.missing(stream(3...7)) == nil)
        #expect(position.missing(stream(4...9)) == 8...9)
    }

    @Test func `what has expired meanwhile is not missed`() {
        var position = StreamPosition()
        #expect(position.missing(stream(1...4)) == 1...4)
        position.read(upTo: 4)
        #expect(position.missing(stream(9...12)) == 9...12)
        position.read(upTo: 12)
        #expect(position.missing(stream(nil, emptyAfter: 12)) == nil)
        #expect(position.missing(stream(nil, emptyAfter: 20)) == nil)
    }

    @Test func `of a stream that has lost its end, or was made anew, all are missing`() {
        var position = StreamPosition()
        _ = position.missing(stream(1...9))
        position.read(upTo: 9)
        #expect(position.missing(stream(1...6)) == 1...6)
        position.read(upTo: 6)
        let later = created + .seconds(1)
        #expect(position.missing(stream(1...8, created: later)) == 1...8, "also when it has grown beyond the old one")
        position.read(upTo: 8)
        #expect(position.missing(stream(1...8, created: later)) == nil)
        #expect(position.missing(stream(nil, created: created)) == nil)
    }

    @Test(arguments: 1...50) func `whatever is stored, expires and is lost, every message is read`(seed: UInt64) {
        var random = Seeded(seed)
        var position = StreamPosition()
        var (first, last, made) = (1, 0, created)
        var read: Set<String> = []
        for _ in 0..<60 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<6: last += Int.random(in: 1...5, using: &random)
            case 6: first = min(last + 1, first + Int.random(in: 0...4, using: &random))
            case 7: (first, last, made) = (1, Int.random(in: 0...(last + 3), using: &random), made + .seconds(1))
            default: break
            }
            let info = StreamInfo(created: made, messages: last + 1 - first, firstSequence: first, lastSequence: last)
            while let missing = position.missing(info) {
                // Not always all at once.
                let end = min(missing.upperBound, missing.lowerBound + Int.random(in: 0...3, using: &random))
                for place in missing.lowerBound...end { read.insert("\(made) \(place)") }
                position.read(upTo: end)
            }
            for place in first..<(last + 1) { #expect(read.contains("\(made) \(place)")) }
        }
    }
}

/// The feed on a broker without any service.
@Suite struct RevocationFeedTests {
    private static let now = SystemClock.now()

    private func token(_ session: SessionID) -> AccessToken {
        AccessToken(
            userID: UserID(high: 0, low: 1),
            sessionID: session,
            email: "",
            role: .user,
            issuedAt: Self.now,
            expiresAt: Self.now + .minutes(15)
        )
    }

    private func session(_ number: UInt64) -> SessionID { SessionID(high: 7, low: number) }

    private func store(_ numbers: ClosedRange<UInt64>, at now: Instant = now, _ bus: BusConnection) async throws {
        let messages = numbers.map { RevocationStream.message(Revocation(session: session($0), revokedAt: now)) }
        for result in await JetStream(connection: bus).publish(messages, deadline: SystemClock.now() + .seconds(20)) {
            _ = try result.get()
        }
    }

    private func connect() async throws -> BusConnection {
        let bus = try await BusConnection.connect(
            BusConfiguration(url: try await NatsServer.account()),
            logger: EchoGateway.silence
        )
        try await JetStream(connection: bus).ensureStream(RevocationStream.configuration())
        return bus
    }

    private func feed(_ bus: BusConnection) -> RevocationFeed {
        RevocationFeed(bus: bus, revocations: Revocations(), logger: EchoGateway.silence)
    }

    @Test func `a gateway that starts while auth is away knows what was revoked before`() async throws {
        let bus = try await connect()
        try await store(1...1_200, bus)
        let feed = feed(bus)
        #expect(!feed.isReady)
        let subscription = try feed.listen()
        let running = Task { await feed.run() }
        try await eventually("the stream is read to its end") { feed.isReady }
        #expect((1...1_200).allSatisfy { feed.revocations.contains(token(session($0))) })
        #expect(!feed.revocations.contains(token(session(1_201))))
        running.cancel()
        subscription.cancel()
        await bus.close()
    }

    @Test func `a revocation that is published while it runs is known, also when the subscription has missed it`() async throws {
        let bus = try await connect()
        let (subscribed, reading) = (feed(bus), feed(bus))
        // Without a reading of the stream, and without a subscription.
        let subscription = try subscribed.listen()
        try await bus.flush()
        let running = Task { await reading.run() }
        try await eventually("it is ready") { reading.isReady }
        try await store(1...3, bus)
        try await eventually("the subscription has them") { subscribed.revocations.contains(token(session(3))) }
        try await eventually("the reading finds them") { reading.revocations.contains(token(session(3))) }
        running.cancel()
        subscription.cancel()
        await bus.close()
    }

    @Test func `a replica of auth whose clock is wrong makes no other session be accepted again`() async throws {
        let bus = try await connect()
        let feed = feed(bus)
        var position = StreamPosition()
        try await store(1...1, bus)
        try await store(2...2, at: Self.now + .minutes(25), bus)
        try await store(3...3, at: Self.now - .minutes(25), bus)
        try await store(4...4, at: Self.now + .days(2), bus)
        try await feed.catchUp(&position)
        for number in UInt64(1)...4 { #expect(feed.revocations.contains(token(session(number))), "\(number)") }
        await bus.close()
    }

    @Test func `it is not ready without the stream, and reads one that was made anew from the beginning`() async throws {
        let bus = try await connect()
        let operations = JetStream(connection: bus)
        func delete() async throws {
            let reply = try await bus.request(
                "$JS.API.STREAM.DELETE.\(RevocationStream.name)",
                body: [],
                deadline: SystemClock.now() + .seconds(5)
            )
            #expect(String(decoding: reply.body, as: UTF8.self).contains(#""success":true"#))
        }
        try await delete()
        let feed = feed(bus)
        var position = StreamPosition()
        await #expect(throws: JetStreamError.self) { try await feed.catchUp(&position) }
        try await operations.ensureStream(RevocationStream.configuration())
        try await store(1...4, bus)
        try await feed.catchUp(&position)
        try await delete()
        try await operations.ensureStream(RevocationStream.configuration())
        try await store(5...10, bus)
        try await feed.catchUp(&position)
        #expect((1...10).allSatisfy { feed.revocations.contains(token(session($0))) })
        await bus.close()
    }

    @Test(arguments: [
        ("revoked.x", "2026-01-01T00:00:00Z"), ("revoked", "2026-01-01T00:00:00Z"),
        ("revoked.00000000-0000-0007-0000-000000000001.x", "2026-01-01T00:00:00Z"),
        ("revoked.00000000-0000-0007-0000-000000000001", "yesterday"), ("revoked.00000000-0000-0007-0000-000000000001", ""),
        ("evt.00000000-0000-0007-0000-000000000001", "2026-01-01T00:00:00Z"),
    ]) func `what is no revocation is none`(subject: String, body: String) {
        #expect(RevocationStream.revocation(subject: subject, body: Array(body.utf8)) == nil)
    }

    @Test func `a message means what it was made of`() throws {
        let revocation = Revocation(session: session(9), revokedAt: Instant(microseconds: 1_700_000_000_123_456))
        let message = RevocationStream.message(revocation)
        #expect(message.subject == "revoked.\(session(9))")
        #expect(RevocationStream.revocation(subject: message.subject, body: message.body) == revocation)
    }
}
