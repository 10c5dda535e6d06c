import Foundation
import Kernel
import TestSupport
import Testing

@testable import Bus

extension BrokerTests {
    /// What a service that was taken over can send by the broker or by other services, which may publish where it may not itself.
    @Suite struct ForgeryTests {
        private static let victim = Notes.echo.subject
        /// Mallory may read her own stream.
        private static let next = "$JS.API.CONSUMER.MSG.NEXT.EVT_MALLORY.mallory"

        /// A victim, an attacker, and a third service that may publish anywhere.
        private struct World {
            let server: NatsServer
            let operator_: BusConnection
            let notes: BusConnection
            let mallory: BusConnection
            let deputy: BusConnection
            /// How many handlers of the victim ran.
            let ran: Shared<Int>
            /// The bodies of the events that reached the victim's consumer.
            let events: Shared<[String]>
            let consumption: Consumption
            let services: [BusService]
        }

        private static let configuration = """
            accounts { APP { jetstream: enabled, users: [
                { user: operator, password: p },
                { user: deputy, password: p },
                { user: notes, password: p, permissions: {
                    publish: ["_INBOX.>", "rpc.mallory.>", "$JS.API.CONSUMER.MSG.NEXT.*.notes"]
                    subscribe: ["rpc.notes.>", "inst.notes.>", "$SRV.>", "_INBOX.notes.>"] } },
                { user: mallory, password: p, permissions: {
                    publish: ["_INBOX.>", "evt.mallory.>", "rpc.deputy.>", "$SRV.>", "$JS.API.>", "$JS.ACK.>"]
                    subscribe: ["rpc.mallory.>", "_INBOX.mallory.>"] } },
            ] } }
            """

        private func withWorld(_ body: (World) async throws -> Void) async throws {
            let world = try await start()
            do { try await body(world) } catch {
                await end(world)
                throw error
            }
            try await checkStillWorks(world)
            await end(world)
        }

        private func start() async throws -> World {
            let server = try await NatsServer.start(configuration: Self.configuration)
            func connect(_ user: String) async throws -> BusConnection {
                try await server.connect(user) { ($0.user, $0.password, $0.inboxPrefix) = (user, "p", "_INBOX.\(user)") }
            }
            let (operator_, notes) = (try await connect("operator"), try await connect("notes"))
            let (mallory, deputy) = (try await connect("mallory"), try await connect("deputy"))
            try await fillStreams(operator_)
            let (ran, events) = (Shared(0), Shared<[String]>([]))
            let services = [
                try await echo("notes", notes) { ran.update { $0 += 1 } },
                try await echo("deputy", deputy) {},
            ]
            let consumption = JetStream(connection: notes).consume(stream: "EVT_NOTES", durable: "notes", batch: 10) { batch in
                events.update { $0 += batch.map { String(decoding: $0.body, as: UTF8.self) } }
            }
            try await notes.flush()
            return World(
                server: server,
                operator_: operator_,
                notes: notes,
                mallory: mallory,
                deputy: deputy,
                ran: ran,
                events: events,
                consumption: consumption,
                services: services
            )
        }

        private func fillStreams(_ bus: BusConnection) async throws {
            let jetStream = JetStream(connection: bus)
            for name in ["notes", "mallory"] {
                let stream = "EVT_\(name.uppercased())"
                let isVictim = name == "notes"
                try await jetStream.ensureStream(
                    StreamConfiguration(name: stream, subjects: ["evt.\(name).>"], keepsMessages: isVictim)
                )
                if name == "notes" {
                    try await jetStream.ensureReader(stream: stream, durable: name)
                } else {
                    try await makeAcknowledgingConsumer(of: stream, name, bus)
                }
            }
            let forged = (0..<80).map { number in
                OutgoingEvent(
                    subject: "evt.mallory.v1.Happened",
                    messageID: "\(number)",
                    headers: ["principal-role": "admin"],
                    body: Array("forged".utf8)
                )
            }
            for result in await jetStream.publish(forged, deadline: SystemClock.now() + .seconds(10)) { _ = try result.get() }
        }

        private func echo(
            _ name: String,
            _ bus: BusConnection,
            _ ran: @escaping @Sendable () -> Void
        ) async throws -> BusService {
            let endpoint = Endpoint(service: name, version: "v1", name: "Echo") { body, _ in
                ran()
                return body
            }
            let service = BusService(connection: bus, name: name, version: "1.0.0", endpoints: [endpoint], logger: quiet)
            try await service.start()
            return service
        }

        private func end(_ world: World) async {
            await world.consumption.stop()
            for service in world.services { await service.drain() }
            for bus in [world.operator_, world.notes, world.mallory, world.deputy] { await bus.close() }
        }

        /// After everything that was tried: requests and events come through, and nothing else did.
        private func checkStillWorks(_ world: World) async throws {
            #expect(world.ran.value == 0 && world.events.value == [])
            // Sent once, however slow the answer is.
            let echo = Notes.method("Echo", isIdempotent: false)
            #expect(try await world.operator_.call(echo, "x", context: CallContext()) == "x")
            let jetStream = JetStream(connection: world.operator_)
            let event = Array("real".utf8)
            let deadline = SystemClock.now() + .seconds(10)
            _ = try await jetStream.publish(subject: "evt.notes.v1.Happened", messageID: "r", body: event, deadline: deadline)
            try await eventually("the event arrives") { world.events.value == ["real"] }
            #expect(world.ran.value == 1)
        }

        @Test func `a message of a stream that is sent to an endpoint runs no handler`() async throws {
            try await withWorld { world in
                try world.mallory.publish(Self.next, body: [UInt8(ascii: "5")], reply: Self.victim)
                try await eventually("all five have arrived") { world.notes.refusedCount >= 5 }
                // An acknowledgement may ask for the next message too.
                let inbox = "_INBOX.mallory.next"
                let replies = Shared<[BusMessage]>([])
                let raw = RawTarget { message in replies.update { $0.append(message) } }
                try world.mallory.subscribe(inbox, queue: nil, target: raw)
                try world.mallory.publish(Self.next, body: [UInt8(ascii: "1")], reply: inbox)
                try await eventually("mallory has one of her own") { replies.value.count == 1 }
                let ack = try #require(replies.value.first?.reply)
                try world.mallory.publish(ack, body: Array("+NXT".utf8), reply: Self.victim)
                try await eventually("the next has arrived") { world.notes.refusedCount >= 6 }
                #expect(world.ran.value == 0)
            }
        }

        @Test func `may not publish there directly`() async throws {
            try await withWorld { world in
                try world.mallory.publish(Self.victim, body: [], reply: "_INBOX.mallory.x")
                try await world.mallory.flush()
                try await world.notes.flush()
                #expect(world.notes.refusedCount == 0, "or the other tests show nothing")
            }
        }

        @Test func `a guessed token ends no request`() async throws {
            try await withWorld { world in
                let (own, others) = (Shared<[String]>([]), Shared<[String]>([]))
                try world.mallory.subscribe("rpc.mallory.v1.Echo") { message in own.update { $0.append(message.reply ?? "") } }
                try world.operator_.subscribe("rpc.mallory.v1.Other") { message in
                    others.update { $0.append(message.reply ?? "") }
                }
                for bus in [world.mallory, world.operator_] { try await bus.flush() }
                let deadline = SystemClock.now() + .seconds(60)
                let asked = try world.notes.startRequest("rpc.mallory.v1.Echo", body: [], deadline: deadline)
                let waiting = try (0..<3).map { _ in
                    try world.notes.startRequest("rpc.mallory.v1.Other", body: [], deadline: deadline)
                }
                try await eventually("all have arrived") { own.value.count == 1 && others.value.count == 3 }
                // A service that was called once knows everything but the tokens of the others.
                let tokens = try #require(own.value.first).split(separator: ".")
                let prefix = tokens.dropLast(2).joined(separator: ".")
                let body = Array("forged".utf8)
                for number in UInt64(0)..<2_000 {
                    for token in ["\(number)", Hex.text(number), "s.\(number)", "\(Hex.text(number)).any"] {
                        try world.mallory.publish("\(prefix).\(token)", body: body)
                    }
                }
                // Right but for a digit or a token.
                for reply in others.value {
                    let whole = String(reply.dropLast(4))
                    let stem = String(whole.dropLast(4))
                    for forged in [
                        whole, stem + ".any", stem + "FFFF.any", stem + ".000.any", reply + "0", reply + ".0", whole + ".all",
                        whole + ".00000000000000FF",
                    ] {
                        try world.mallory.publish(forged, body: body)
                    }
                }
                try await world.mallory.flush()
                for reply in others.value { try world.operator_.publish(reply, body: Array("true".utf8)) }
                for request in waiting { #expect(try await request.value().body == Array("true".utf8)) }
                try world.mallory.publish(own.value.joined(), body: Array("own".utf8))
                #expect(try await asked.value().body == Array("own".utf8))
            }
        }

        /// Even an attacker who knew the inbox of a consumer could make up no event.
        @Test func `a consumer takes only its own deliveries`() async throws {
            try await withWorld { world in
                let inbox = world.consumption.inbox
                #expect(inbox.hasPrefix("_INBOX.notes.") && inbox.count == "_INBOX.notes.".count + 32)
                let body = Array("forged".utf8)
                let ack = "$JS.ACK.EVT_NOTES.notes.1.1.1.1700000000000000000.0"
                for reply in ["_INBOX.mallory.x", "rpc.notes.v1.Echo", nil] {
                    try world.mallory.publish("\(inbox).1", body: body, reply: reply)
                    try world.mallory.publish("\(inbox).x", headers: ["Status": "100"], body: body, reply: reply)
                }
                try await eventually("all have arrived") { world.notes.refusedCount >= 6 }
                // Brokers refuse these replies from clients; should one not, they are refused here.
                for reply in [ack, "$JS.ACK.hub.hash.EVT_NOTES.notes.1.1.1.1700000000000000000.0.x"] {
                    world.consumption.arrived(BusMessage(subject: "\(inbox).1", reply: reply, body: body))
                }
                for reply in [
                    "$JS.ACK.EVT_OTHER.notes.1.1.1.1.0", "$JS.ACK.EVT_NOTES.other.1.1.1.1.0", "$JS.ACK.x.notes.1.1.1.1.0",
                ] {
                    world.consumption.arrived(BusMessage(subject: "evt.notes.v1.Happened", reply: reply, body: body))
                }
                #expect(world.notes.refusedCount == 11)
                try world.mallory.publish(Self.next, body: [UInt8(ascii: "5")], reply: "\(inbox).1")
                try await eventually("all five have arrived") { world.notes.refusedCount >= 16 }
                #expect(world.events.value == [])
            }
        }

        /// Requests to everything of JetStream: each is answered to the victim, and none of it counts.
        @Test func `whatever the broker is asked its answers run nothing`() async throws {
            try await withWorld { world in
                let token = try world.notes.requests.open(until: Tick.now() + .seconds(600))
                let inbox = world.consumption.inbox
                for (target, isRefused) in [
                    (Self.victim, true), ("inst.notes.\(world.services[0].id).\(Self.victim)", true), ("inst.notes.ping", true),
                    ("$SRV.INFO.notes", true), ("\(inbox).1", true), ("\(inbox).x.y", false),
                    (world.notes.requests.replySubject(token &+ 1), false),
                ] {
                    let tap = Tap(world.operator_)
                    let subscription = try world.operator_.subscribe(target, queue: nil, target: tap)
                    try await world.operator_.flush()
                    for (api, body) in Self.requests(target) {
                        let (seen, refused) = (tap.count.value, world.notes.refusedCount)
                        try world.mallory.publish("$JS.API.\(api)", body: Array(body.utf8), reply: target)
                        try await eventually("\(api) is answered") { tap.count.value > seen }
                        if isRefused {
                            try await eventually("\(api) arrives at \(target)") { world.notes.refusedCount > refused }
                        }
                    }
                    subscription.cancel()
                }
                #expect(world.ran.value == 0 && world.events.value == [])
                #expect(world.notes.requests.count == 1, "the request still waits")
                world.notes.requests.remove(token)
            }
        }

        /// An answer without a body is a valid request to purge a stream, and the confirmation of an event one to remove another event.
        @Test func `no answer of the broker takes an event from a stream`() async throws {
            try await withWorld { world in
                let jetStream = JetStream(connection: world.operator_)
                let deadline = SystemClock.now() + .seconds(60)
                for number in 0..<90 {
                    let (id, body) = ("kept \(number)", Array("kept".utf8))
                    _ = try await jetStream.publish(
                        subject: "evt.notes.v1.Happened",
                        messageID: id,
                        body: body,
                        deadline: deadline
                    )
                }
                try await eventually("all have arrived") { world.events.value.count == 90 }
                world.events.update { $0 = [] }
                let (inbox, own) = ("_INBOX.mallory.all", Shared(0))
                let raw = RawTarget { _ in own.update { $0 += 1 } }
                try world.mallory.subscribe(inbox, queue: nil, target: raw)
                try world.mallory.publish(Self.next, body: Array("80".utf8), reply: inbox)
                try await eventually("mallory has all of hers") { own.value == 80 }
                for (asked, body, target) in [
                    (Self.next, #"{"batch":1,"no_wait":true}"#, "$JS.API.STREAM.PURGE.EVT_NOTES"),
                    ("evt.mallory.v1.Happened", "", "$JS.API.STREAM.MSG.DELETE.EVT_NOTES"),
                ] {
                    let tap = Tap(world.operator_)
                    let subscription = try world.operator_.subscribe(target, queue: nil, target: tap)
                    try await world.operator_.flush()
                    try world.mallory.publish(asked, body: Array(body.utf8), reply: target)
                    try await eventually("the answer is a request") { tap.count.value > 0 }
                    subscription.cancel()
                    // In turn after the forged one.
                    let seq = Array(#"{"seq":1}"#.utf8)
                    let refusal = try await world.operator_.request(
                        target,
                        body: target.contains("MSG") ? seq : [],
                        deadline: deadline
                    )
                    #expect(String(decoding: refusal.body, as: UTF8.self).contains(#""error""#))
                }
                #expect(try await jetStream.streamInfo("EVT_NOTES").messages == 90)
            }
        }

        @Test func `no service answers to a subject that is no inbox`() async throws {
            try await withWorld { world in
                let answers = Shared(0)
                let subjects = [Self.victim, "evt.notes.v1.Happened", "relay.notes.wake", "_INBOX", "_INBOXES.x"]
                for subject in subjects { try world.operator_.subscribe(subject) { _ in answers.update { $0 += 1 } } }
                try await world.operator_.flush()
                for subject in subjects {
                    for asked in ["rpc.deputy.v1.Echo", "$SRV.INFO", "$SRV.PING.deputy", "$SRV.STATS"] {
                        let refused = world.deputy.refusedCount
                        try world.mallory.publish(asked, headers: ["deadline": "99999999999999"], body: [1], reply: subject)
                        try await eventually("\(asked) arrives") { world.deputy.refusedCount > refused }
                    }
                }
                let refused = world.deputy.refusedCount
                try world.mallory.publish("rpc.deputy.v1.Echo", body: [1])
                try await eventually("a request without a reply subject too") { world.deputy.refusedCount > refused }
                for bus in [world.deputy, world.notes, world.operator_] { try await bus.flush() }
                #expect(answers.value == 0 && world.ran.value == 0)
                #expect(world.services.allSatisfy { $0.inFlight == 0 })
                let inbox = "_INBOX.mallory.fine"
                try world.mallory.subscribe(inbox) { _ in answers.update { $0 += 1 } }
                try world.mallory.publish("rpc.deputy.v1.Echo", body: [1], reply: inbox)
                try await eventually("who waits at an inbox is answered") { answers.value == 1 }
            }
        }

        /// Every kind of request of JetStream's API that is answered, with bodies that name the target where the API lets them.
        private static func requests(_ target: String) -> [(api: String, body: String)] {
            let id = target.utf8.reduce(UInt64(7)) { $0 &* 31 &+ UInt64($1) }
            let consumer = #"{"stream_name":"EVT_MALLORY","config":{"deliver_subject":"\#(target)","ack_policy":"none","#
            return [
                ("INFO", ""), ("STREAM.NAMES", ""), ("STREAM.LIST", ""), ("STREAM.INFO.EVT_MALLORY", ""),
                ("STREAM.MSG.GET.EVT_MALLORY", #"{"seq":3}"#), ("CONSUMER.NAMES.EVT_MALLORY", ""),
                ("CONSUMER.LIST.EVT_MALLORY", ""), ("CONSUMER.INFO.EVT_MALLORY.mallory", ""),
                ("CONSUMER.MSG.NEXT.EVT_MALLORY.mallory", "1"),
                ("CONSUMER.MSG.NEXT.EVT_MALLORY.mallory", #"{"batch":1,"no_wait":true,"expires":1000000}"#),
                ("CONSUMER.DURABLE.CREATE.EVT_MALLORY.d\(id)", consumer + #""durable_name":"d\#(id)","deliver_policy":"last"}}"#),
                (
                    "CONSUMER.CREATE.EVT_MALLORY",
                    consumer + #""deliver_policy":"last","idle_heartbeat":100000000,"flow_control":true}}"#
                ),
                (
                    "STREAM.CREATE.X\(id)",
                    #"{"name":"X\#(id)","subjects":["evt.mallory.x\#(id)"],"storage":"memory","allow_direct":true}"#
                ),
                ("STREAM.UPDATE.X\(id)", #"{"name":"X\#(id)","subjects":["evt.mallory.y\#(id)"],"storage":"memory"}"#),
                ("STREAM.SNAPSHOT.X\(id)", #"{"deliver_subject":"\#(target)"}"#),
                ("STREAM.RESTORE.Y\(id)", #"{"config":{"name":"Y\#(id)","subjects":["evt.mallory.z\#(id)"]},"state":{}}"#),
                ("STREAM.PURGE.X\(id)", ""), ("STREAM.MSG.DELETE.EVT_MALLORY", #"{"seq":1}"#),
                ("CONSUMER.DELETE.EVT_MALLORY.d\(id)", ""), ("STREAM.DELETE.X\(id)", ""),
            ]
        }
    }
}

/// Counts everything that comes to a subject, whatever subject it bears.
private final class Tap: MessageTarget {
    let count = Shared(0)

    init(_: BusConnection) {}

    var judgesSubjects: Bool { true }

    func arrived(_ message: OpaquePointer) {
        _ = BusMessage(taking: message)
        count.update { $0 += 1 }
    }
}

/// Shows messages as they are.
private final class RawTarget: MessageTarget {
    private let handler: @Sendable (BusMessage) -> Void

    init(_ handler: @escaping @Sendable (BusMessage) -> Void) { self.handler = handler }

    var judgesSubjects: Bool { true }

    func arrived(_ message: OpaquePointer) { handler(BusMessage(taking: message, anyReply: true)) }
}
