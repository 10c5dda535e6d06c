import Bus
import Cryptography
import Foundation
import Kernel
import Runtime
import Synchronization
import TestSupport
import Testing
import Tokens
import Transcoding

@testable import GatewayService

/// A broker, a service with a stream (`Fixtures/watch.proto`) whose events a test makes, and gateways in this process.
final class WatchWorld: Sendable {
    private struct State {
        /// What each user has had, by `UserID.description`.
        var events: [String: [StreamEvent]] = [:]
        /// Users by lease.
        var leases: [String: String] = [:]
        var questions = 0
        var keyQuestions = 0
        var gateways: [GatewayHost] = []
        /// Answers as long as it lives.
        var service: BusService?
    }

    let nats: NatsServer
    let bus: BusConnection
    private let signer: TokenSigner
    private let key: ServiceKey?
    private let signsKeys: Bool
    private let state = Mutex(State())

    /// - Parameters:
    ///   - key: of the service, which gateways check; nil: it has none, and nothing is checked.
    ///   - signsKeys: whether the keys that verify tokens are signed by it.
    ///   - isStarted: whether the service runs already.
    init(key: ServiceKey? = nil, signsKeys: Bool = true, isStarted: Bool = true) async throws {
        (self.key, self.signsKeys) = (key, signsKeys)
        nats = try await NatsServer.start()
        bus = try await BusConnection.connect(BusConfiguration(url: nats.url), logger: EchoGateway.silence)
        signer = try TokenSigner(pemKeys: [TokenSigner.makeKey()])
        try await JetStream(connection: bus).ensureStream(RevocationStream.configuration())
        if isStarted { try await start() }
    }

    /// Starts the service.
    func start() async throws {
        let set = [UInt8](
            try Data(contentsOf: try #require(Bundle.module.url(forResource: "Fixtures/watch.binpb", withExtension: nil)))
        )
        let hash = SHA256.hash(data: set).map { String(UInt32($0) + 256, radix: 16).dropFirst() }.joined()
        var metadata = ["descriptor": hash]
        metadata[ServiceStatement.descriptorField] = try key?.sign(
            .descriptor(service: "watch", version: "1.0.0", sha256: hash)
        )
        let service = BusService(
            connection: bus,
            name: "watch",
            version: "1.0.0",
            metadata: metadata,
            endpoints: [
                Endpoint(service: "watch", version: "v1", name: "Events") { [self] in try answer($0, $1) },
                Endpoint(service: "watch", version: "v1", name: "Renew") { [self] body, _ in renew(body) },
                Endpoint(service: "watch", version: "v1", name: "Keys") { [self] _, _ in try keys() },
                .descriptor(service: "watch", sha256: hash, reply: HandmadeDescriptor.field(1, set)),
            ],
            logger: EchoGateway.silence
        )
        try await service.start()
        state.withLock { $0.service = service }
    }

    /// The keys that verify tokens.
    private func keys() throws -> [UInt8] {
        state.withLock { $0.keyQuestions += 1 }
        let published = try #require(signer.publicKeys.first)
        let members = [(1, "EC"), (2, "P-256"), (3, published.kid), (4, published.x), (5, published.y)]
        let set = HandmadeDescriptor.field(1, members.flatMap { HandmadeDescriptor.text($0, $1) })
        guard let key, signsKeys else { return set }
        let now = SystemClock.now().seconds
        let statement = ServiceStatement.tokenKeys(
            service: "watch",
            signedAt: now,
            keys: [(kty: "EC", crv: "P-256", kid: published.kid, x: published.x, y: published.y)]
        )
        return set + HandmadeDescriptor.varint(2, UInt64(now)) + HandmadeDescriptor.text(3, try key.sign(statement))
    }

    /// Starts one more gateway. - Returns: it, and its port.
    func addGateway(_ settings: [String: String] = [:]) async throws -> (host: GatewayHost, port: UInt16) {
        var known = ["gateway.services": "watch", "gateway.token-service": "watch", "gateway.ready-timeout": "20"]
        known["service.public-keys"] = key.map { "watch=\($0.publicText)" }
        known.merge(settings) { $1 }
        let host = try EchoGateway.makeHost(nats.url, files: nats.files.appendingPathComponent("blobs"), known)
        try await host.start()
        state.withLock { $0.gateways.append(host) }
        return (host, UInt16(clamping: host.port))
    }

    func stop() async {
        for gateway in state.withLock({ $0.gateways }) { await gateway.stop() }
        await bus.close()
    }

    // MARK: What a test does

    /// A user with a session and a token of this life.
    func user(_ number: UInt64, life: Interval = .minutes(15)) async throws -> (id: UserID, session: SessionID, token: String) {
        let now = SystemClock.now()
        let (id, session) = (UserID(high: 1, low: number), SessionID(high: 2, low: number))
        let token = AccessToken(
            userID: id,
            sessionID: session,
            email: "",
            role: .user,
            issuedAt: now,
            expiresAt: now + life
        )
        return (id, session, try signer.sign(token))
    }

    /// Adds an event, and publishes it unless it is to be lost.
    func append(_ data: String = "{}", to user: UserID, isLost: Bool = false) throws {
        let event = state.withLock { state in
            let event = StreamEvent(id: Int64(state.events[user.description, default: []].count) + 1, name: "note", data: data)
            state.events[user.description, default: []].append(event)
            return event
        }
        if !isLost { try bus.publish("live.watch.\(user)", body: Self.page([event], last: event.id)) }
    }

    /// Ends a session as `auth` does.
    func revoke(_ session: SessionID) async throws {
        let message = RevocationStream.message(Revocation(session: session, revokedAt: SystemClock.now()))
        for result in await JetStream(connection: bus).publish([message], deadline: SystemClock.now() + .seconds(10)) {
            _ = try result.get()
        }
    }

    /// How many leases there are.
    var leases: Int { state.withLock { $0.leases.count } }
    /// How often a gateway has asked for what was missed.
    var questions: Int { state.withLock { $0.questions } }

    /// How often a gateway has asked for the keys that verify tokens.
    var keyQuestions: Int { state.withLock { $0.keyQuestions } }

    // MARK: The service

    private func answer(_ body: [UInt8], _ context: CallContext) throws -> [UInt8] {
        let user = try context.requireUser().description
        let request = Self.texts(body)
        func text(_ number: UInt8) -> String { request.first(where: { $0.number == number })?.text ?? "" }
        let after: String = text(1)
        let lease: String = text(2)
        return try state.withLock { state in
            state.questions += 1
            if state.leases[lease] == nil, state.leases.values.count(where: { $0 == user }) >= 5 {
                throw ServiceError(.resourceExhausted, "TOO_MANY_STREAMS", "Five are open.", retryAfter: 10)
            }
            state.leases[lease] = user
            let events = state.events[user, default: []]
            let last = Int64(events.count)
            guard let known = Int64(after), (0...last).contains(known) else {
                return Self.page([StreamEvent(id: last, name: "reset", data: "{}")], last: last)
            }
            return Self.page(Array(events[Int(known)...]), last: last)
        }
    }

    private func renew(_ body: [UInt8]) -> [UInt8] {
        state.withLock { state in
            var reply: [UInt8] = []
            for (number, lease) in Self.texts(body) {
                guard let user = state.leases[lease] else { continue }
                if number == 2 {
                    state.leases[lease] = nil
                } else {
                    let newest = Self.number(2, UInt64(state.events[user, default: []].count))
                    reply += HandmadeDescriptor.field(1, HandmadeDescriptor.field(1, Array(lease.utf8)) + newest)
                }
            }
            return reply
        }
    }

    private static func page(_ events: [StreamEvent], last: Int64) -> [UInt8] {
        events.flatMap { event in
            let texts = HandmadeDescriptor.field(2, Array(event.name.utf8)) + HandmadeDescriptor.field(3, Array(event.data.utf8))
            return HandmadeDescriptor.field(1, number(1, UInt64(event.id)) + texts)
        } + number(2, UInt64(last))
    }

    private static func number(_ field: UInt8, _ value: UInt64) -> [UInt8] {
        var (bytes, rest) = ([field << 3], value)
        while rest > 0x7F {
            bytes.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    /// The fields of a message of short texts.
    private static func texts(_ body: [UInt8]) -> [(number: UInt8, text: String)] {
        var (fields, position) = ([(number: UInt8, text: String)](), 0)
        while position + 1 < body.count {
            let end = position + 2 + Int(body[position + 1])
            fields.append((body[position] >> 3, String(decoding: body[(position + 2)..<min(end, body.count)], as: UTF8.self)))
            position = end
        }
        return fields
    }
}

/// A client that reads its events when it is asked.
final class WatchClient: Sendable {
    let connection: RawConnection

    init(_ port: UInt16, token: String?, lastEventID: String? = nil, method: String = "GET", query: String = "") async throws {
        connection = try RawConnection(port: port)
        let headers = [token.map { "Authorization: Bearer \($0)" }, lastEventID.map { "Last-Event-ID: \($0)" }].compactMap { $0 }
        let lines = ["\(method) /api/events\(query) HTTP/1.1", "Host: a"] + headers
        try await connection.send(lines.joined(separator: "\r\n") + "\r\n\r\n")
    }

    /// The status of the reply; 0 while there is none.
    var status: Int { connection.text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0 }
    /// The ids of the events that have arrived whole.
    var ids: [Int] { connection.text.matches(of: /id: (\d+)\nevent: [a-z_]+\ndata: [^\n]*\n\n/).compactMap { Int($0.1) } }
    /// Whether the stream has ended, in order.
    var hasEnded: Bool { connection.text.hasSuffix("\r\n0\r\n\r\n") }
}
