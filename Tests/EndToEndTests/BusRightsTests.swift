import Bus
import DevEnvironment
import Foundation
import Kernel
import Synchronization
import TestSupport
import Testing

/// What a service that was taken over could do to the others over the bus (D9).
@Suite struct BusRightsTests {
    private struct Service: Decodable {
        struct Endpoint: Decodable {
            let name: String
            let subject: String?
            let num_requests: Int?
        }
        let name: String
        let metadata: [String: String]?
        let endpoints: [Endpoint]?
    }

    /// What every replica says of itself.
    private func ask(_ subject: String, _ bus: BusConnection, atLeast count: Int) async throws -> [Service] {
        var services: [Service] = []
        try await eventually("every service answers \(subject)") {
            let answers = try await bus.scatter(subject, for: .seconds(2), atMost: count)
            services = try answers.map { try JSONDecoder().decode(Service.self, from: Data($0.body)) }
            return services.count == count
        }
        return services
    }

    private func requests(_ method: String, of service: String, _ bus: BusConnection) async throws -> Int {
        let answer = try #require(try await ask("$SRV.STATS.\(service)", bus, atLeast: 1).first)
        return try #require(answer.endpoints?.first { $0.name == method }?.num_requests)
    }

    @Test func `every service consumes what the table of rights says, no less and no more, and calls nothing else`() async throws
    {
        let home = try await Installation.shared.value
        let bus = try await home.bus()
        var services: [Service] = []
        try await eventually("every service answers") {
            // A service that another test brings along comes and goes.
            services = try await bus.scatter("$SRV.INFO", for: .seconds(2), atMost: 64)
                .map { try JSONDecoder().decode(Service.self, from: Data($0.body)) }
                .filter { BusPermissions.services.contains($0.name) }
            return services.count == BusPermissions.services.count
        }
        for service in services {
            let consumed = service.metadata?["consumes"]?.split(separator: ",").map(String.init) ?? []
            let rights = (BusPermissions.sources[service.name] ?? [:]).flatMap { feature, sources in
                sources.map { "\(feature):\($0)" }
            }
            #expect(Set(consumed) == Set(rights), "\(service.name)")
        }
        #expect(Set(services.map(\.name)) == Set(BusPermissions.services))
        // Nor has one called what it does not declare, in all that other tests have done with this installation so far.
        let log = try #require(Files.text(home.data.appending(path: "logs/nats.log")))
        let refused = log.split(separator: "\n").filter { $0.contains("Publish Violation") }
        #expect(refused.filter { $0.contains("\"rpc.") || $0.contains("\"inst.") } == [])
        await bus.close()
    }

    @Test func `what a service has the broker deliver to another is no request, and its own events are not lost`() async throws {
        // Its own: the deliveries of its media are stolen.
        let home = try await Installation()
        let (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        let chief = try await home.bus()
        let attacker = try await home.bus(as: "media")
        let before = try await requests("SpendToken", of: "billing", chief)
        let jetStream = JetStream(connection: chief)
        // Its pulls wait in the same queue as those of the real media, until each has had its turn.
        for round in 0..<40 {
            for source in ["AUTH", "SOCIAL"] {
                try attacker.publish(
                    "$JS.API.CONSUMER.MSG.NEXT.EVT_\(source).media-core",
                    body: Array(#"{"batch":1,"expires":20000000000}"#.utf8),
                    reply: "rpc.billing.v1.SpendToken"
                )
            }
            try await attacker.flush()
            let name = "Ada \(round)"
            _ = try await home.call("PUT", "/api/users/me", token: ada.token, json: #"{"display_name":"\#(name)"}"#)
        }
        // An event leaves after the reply.
        try await eventually("all are delivered") {
            try await jetStream.consumerInfo(stream: "EVT_AUTH", durable: "media-core").delivered >= 40
        }
        // Everything that was delivered to billing has been looked at by the time it answers.
        _ = try await ada.get("/api/recovery/balance")
        #expect(try await requests("SpendToken", of: "billing", chief) == before)
        // And media knows the last of the names all the same.
        try await eventually("media has consumed every event") {
            try await home.sql("SELECT display_name FROM media.profile_replica WHERE user_id = '\(ada.id)'") == "Ada 39"
        }
        _ = ben
        await attacker.close()
        await chief.close()
        await home.guardian.end()
    }

    // MARK: Forged principals (D23)

    /// Requests that claim to be from a user: each role, as headers of their own, packed, and with a seal that is none.
    private static func forged(_ user: String) -> [BusHeaders] {
        let deadline = "\((SystemClock.now() + .minutes(2)).milliseconds)"
        return ["admin", "user", "service", "guest"].flatMap { role -> [BusHeaders] in
            let packed = "- forged \(deadline) \(role) \(user) - 192.0.2.1 - -"
            return [
                ["principal-role": role, "principal-user": user, "deadline": deadline], ["call": packed],
                ["call": packed + " \(deadline);rpc.auth.v1.GetMe;auth=\(String(repeating: "A", count: 22))"],
            ]
        }
    }

    /// What a service's user may call.
    private static func callable(by user: String) -> Set<String> {
        let calls = ServiceCalls.methods[user] ?? [:]
        let own = calls.flatMap { service, methods in methods.map { ServiceCalls.subject(service, $0) } }
        guard user == "auth" else { return Set(own) }
        let operating = BusPermissions.services.flatMap { name in
            ServiceCalls.operating.map { ServiceCalls.subject(name, $0) }
        }
        return Set(own + operating)
    }

    /// Sends every forged principal to every method as the user of a service: the broker drops what the service does not
    /// call, and what it calls refuses them.
    private func forge(_ subjects: [String], as user: String, victim: String, _ home: Installation) async throws {
        let bus = try await home.bus(as: user)
        let replies = Mutex<[String: String]>([:])
        try bus.subscribe("_INBOX.\(user).forged.*") { message in
            let reason = message.headers["Nats-Service-Error"] ?? "it was answered"
            replies.withLock { $0[message.subject] = reason }
        }
        let callable = Self.callable(by: user)
        var expected: Set<String> = []
        for (number, subject) in subjects.enumerated() {
            // What the broker drops it drops whatever the headers say.
            let forms = Self.forged(victim).prefix(callable.contains(subject) ? .max : 1)
            for (form, headers) in forms.enumerated() {
                let inbox = "_INBOX.\(user).forged.\(number)-\(form)"
                if callable.contains(subject) { expected.insert(inbox) }
                try bus.publish(subject, headers: headers, body: [], reply: inbox)
            }
        }
        try await bus.flush()
        try await eventually("\(user) gets \(expected.count) refusals") {
            replies.withLock { Set($0.keys).isSuperset(of: expected) }
        }
        let (answered, reasons) = replies.withLock { (Set($0.keys), Set($0.values)) }
        #expect(answered == expected, "\(user): the broker lets nothing else through")
        #expect(reasons == ["PRINCIPAL_NOT_SEALED"], "\(user)")
        await bus.close()
    }

    @Test func `no service passes for a user: each service, every method, every forged principal`() async throws {
        // Its own: the broker logs all that it drops.
        let home = try await Installation()
        let (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        let chief = try await home.bus()
        let services = try await ask("$SRV.STATS", chief, atLeast: BusPermissions.services.count)
        let subjects = services.flatMap { $0.endpoints ?? [] }.compactMap(\.subject).filter {
            $0.split(separator: ".").count == 4
        }
        #expect(subjects.count > 240)
        for user in BusPermissions.services {
            #expect(Self.callable(by: user).isSubset(of: subjects), "\(user) calls what is there")
            try await forge(subjects, as: user, victim: ada.id, home)
        }
        try await changeSeal(of: ada, for: ben, home)
        let forgeries = home.logs.split(separator: "\n").filter { $0.contains("no gateway has sealed what it claims") }
        #expect(Set(BusPermissions.services).allSatisfy { name in forgeries.contains { $0.contains("rpc.\(name).v1.") } })
        await chief.close()
        await home.guardian.end()
    }

    /// What `media` can make of a request that it gets: calls for the user who sent it, and none for another.
    private func changeSeal(of ada: Person, for ben: Person, _ home: Installation) async throws {
        let attacker = try await home.bus(as: "media")
        let seen = Mutex<BusMessage?>(nil)
        for subject in ["rpc.media.v1.GetFeed", "inst.media.*.rpc.media.v1.GetFeed"] {
            try attacker.subscribe(subject) { message in seen.withLock { $0 = message } }
        }
        try await attacker.flush()
        #expect(try await ada.get("/api/photos/feed").status == 200)
        try await eventually("media has seen the request") { seen.withLock { $0 != nil } }
        let headers = try #require(seen.withLock { $0?.headers })
        func reason(_ subject: String, _ name: String?, _ value: String = "") async throws -> String? {
            var headers = headers
            if let name { headers.append(name, value) }
            let end = SystemClock.now() + .seconds(5)
            let reply = try await attacker.request(subject, headers: headers, body: [], deadline: end)
            return reply.headers["Nats-Service-Error"]
        }
        let dates = "rpc.streaks.v1.ListOpenDates"
        #expect(try await reason(dates, nil) == "VALIDATION_ERROR", "media may pass it on; the body is empty")
        for (name, value) in [
            ("principal-role", "admin"), ("principal-user", ben.id), ("principal-session", ben.id),
            ("client-address", "192.0.2.1"), ("request-id", "another"),
            ("principal-seal", "1;\(dates);streaks=AAAAAAAAAAAAAAAAAAAAAA"),
        ] {
            #expect(try await reason(dates, name, value) == "PRINCIPAL_NOT_SEALED", "\(name)")
        }
        await attacker.close()
    }
}
