import DevEnvironment
import Kernel

/// The control API's routes: what a test asks of its worlds.
struct ControlRoutes: Sendable {
    typealias Answer = ControlServer.Answer
    typealias Call = ControlServer.Call

    let worlds: Worlds
    let apple: AppleStandIn

    /// - Throws: `ControlError`, or what a world throws.
    func answer(_ call: Call) async throws -> Answer {
        guard call.path.first == "worlds" else { throw Self.noPath }
        if call.path.count == 1 { return try await all(call) }
        let id = call.path[1]
        switch call.path.count {
        case 2: return try await one(call, id)
        case 3: return try await part(call, try await worlds.world(id), call.path[2])
        case 5 where call.path[2] == "services":
            return try await service(call, try await worlds.world(id), call.path[3], call.path[4])
        default: throw Self.noPath
        }
    }

    private static let noPath = ControlError.notFound("path", "There is no such path.")

    private func all(_ call: Call) async throws -> Answer {
        switch call.method {
        case "GET":
            let (ids, warm) = await worlds.list
            return Answer(body: .object(["worlds": .list(ids.map { .text($0) }), "warm": .whole(Int64(warm))]))
        case "POST":
            let fields = try Fields(call.body, known: ["clock", "settings"])
            let world = try await worlds.create(clock: try fields.time("clock"), settings: try fields.texts("settings"))
            return Answer(status: 201, body: try await description(of: world))
        default: throw ControlError.method("GET and POST")
        }
    }

    private func one(_ call: Call, _ id: String) async throws -> Answer {
        switch call.method {
        case "GET": return Answer(body: try await description(of: try await worlds.world(id)))
        case "DELETE":
            try await worlds.remove(id)
            return Answer(status: 204)
        default: throw ControlError.method("GET and DELETE")
        }
    }

    private func description(of world: World) async throws -> JSON {
        let plan = world.plan
        return .object([
            "id": .text(plan.id), "url": .text(plan.url), "now": .text("\(try await world.now())"),
            "nats": .texts([
                "url": plan.endpoints.natsURL, "user": NATSConfiguration.name(of: "operator", inAccount: plan.account),
                "password": plan.endpoints.natsPassword(of: "operator") ?? "",
            ]),
            "postgres": .texts(["url": plan.endpoints.adminPostgresURL(database: plan.id)]),
        ])
    }

    private func part(_ call: Call, _ world: World, _ name: String) async throws -> Answer {
        switch name {
        case "clock": return try await clock(call, world)
        case "people":
            try Self.require("POST", call)
            let people = try await world.makePeople(try PeopleWanted(try Fields(call.body, known: PeopleWanted.fields)))
            return Answer(status: 201, body: .object(["people": .list(people.map(\.json))]))
        case "quiet":
            try Self.require("POST", call)
            try await world.waitUntilQuiet()
            return Answer(status: 204)
        case "tokens":
            try Self.require("POST", call)
            let fields = try Fields(call.body, known: ["email", "password"])
            let (email, password) = (try fields.required("email"), try fields.required("password"))
            return Answer(body: try await world.signIn(email: email, password: password))
        case "pushes":
            return try await sent("pushes", call, { world.standIns.expo.pushes(to: $0) }, { world.standIns.expo.clear() })
        case "mails":
            return try await sent("mails", call, { world.standIns.mail.mails(to: $0) }, { world.standIns.mail.clear() })
        case "purchases": return try await purchase(call, world)
        case "apple-tokens":
            try Self.require("POST", call)
            let fields = try Fields(call.body, known: ["subject", "email", "nonce"])
            let person = AppleStandIn.Person(
                subject: try fields.required("subject"),
                email: try fields.text("email"),
                nonce: try fields.text("nonce")
            )
            let token = try await apple.token(for: person, now: try await world.now())
            return Answer(status: 201, body: .texts(["identity_token": token]))
        case "database", "expo", "mail":
            try Self.require("PUT", call)
            return Answer(body: try behave(name, call.body, world))
        default: throw Self.noPath
        }
    }

    private func clock(_ call: Call, _ world: World) async throws -> Answer {
        let now: Instant
        switch call.method {
        case "GET": now = try await world.now()
        case "PUT":
            let fields = try Fields(call.body, known: ["now", "advance_seconds"])
            switch (try fields.time("now"), try fields.whole("advance_seconds", in: 0...3_153_600_000)) {
            case (let target?, nil): now = try await world.setClock(target)
            case (nil, let seconds?): now = try await world.advanceClock(seconds)
            default: throw ControlError.invalid("now", "or advance_seconds is required, and not both")
            }
        default: throw ControlError.method("GET and PUT")
        }
        return Answer(body: .texts(["now": "\(now)"]))
    }

    private func service(_ call: Call, _ world: World, _ name: String, _ verb: String) async throws -> Answer {
        try Self.require("POST", call)
        guard BusPermissions.services.contains(name) else {
            let names = BusPermissions.services.joined(separator: ", ")
            throw ControlError.notFound("name", "There is no service \(name); there are: \(names).")
        }
        switch verb {
        case "stop": await world.stopService(name)
        case "start": try await world.startService(name)
        default: throw Self.noPath
        }
        return Answer(body: .object(["name": .text(name), "running": .flag(verb == "start")]))
    }

    /// How what a world depends on behaves from now on; fields that are left out have their defaults.
    private func behave(_ name: String, _ body: [UInt8], _ world: World) throws -> JSON {
        switch name {
        case "database":
            let fields = try Fields(body, known: ["delay_ms", "away"])
            let behaviour = DatabaseProxy.Behaviour(
                delay: try fields.whole("delay_ms", in: 0...10_000) ?? 0,
                isAway: try fields.flag("away") ?? false
            )
            world.database.behave(behaviour)
            return .object(["delay_ms": .whole(behaviour.delay), "away": .flag(behaviour.isAway)])
        case "expo":
            let fields = try Fields(body, known: ["status", "tickets", "receipts"])
            let status = try fields.whole("status", in: 200...599) ?? 200
            guard status == 200 || status >= 400 else {
                throw ControlError.invalid("status", "must be 200, or from 400 to 599")
            }
            let behaviour = ExpoStandIn.Behaviour(
                status: status,
                tickets: try fields.texts("tickets"),
                receipts: try fields.texts("receipts")
            )
            world.standIns.expo.behave(behaviour)
            return .object([
                "status": .whole(status), "tickets": .texts(behaviour.tickets), "receipts": .texts(behaviour.receipts),
            ])
        default:
            let text = try Fields(body, known: ["refuses"]).text("refuses") ?? MailStandIn.Behaviour.no.rawValue
            guard let behaviour = MailStandIn.Behaviour(rawValue: text) else {
                throw ControlError.invalid("refuses", "must be no, temporarily or permanently")
            }
            world.standIns.mail.behave(behaviour)
            return .texts(["refuses": text])
        }
    }

    /// What has left a world; waits for as many as the test expects.
    private func sent(
        _ name: String,
        _ call: Call,
        _ find: @Sendable (String?) -> [JSON],
        _ clear: @Sendable () -> Void
    ) async throws -> Answer {
        if call.method == "DELETE" {
            clear()
            return Answer(status: 204)
        }
        guard call.method == "GET" else { throw ControlError.method("GET and DELETE") }
        let known = ["to", "at_least", "within_seconds"]
        if let stranger = call.query.keys.sorted().first(where: { !known.contains($0) }) {
            throw ControlError.invalid(stranger, "is no parameter of this request; there are: \(known.joined(separator: ", "))")
        }
        let least = try Self.whole(call.query, "at_least", in: 0...1_000, or: 0)
        let deadline = ContinuousClock.now + .seconds(try Self.whole(call.query, "within_seconds", in: 0...60, or: 5))
        var found = find(call.query["to"])
        while found.count < least, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(10))
            found = find(call.query["to"])
        }
        return Answer(body: .object([name: .list(found)]))
    }

    private func purchase(_ call: Call, _ world: World) async throws -> Answer {
        try Self.require("POST", call)
        let fields = try Fields(call.body, known: ["user_id", "product_id", "type", "expires_at", "transaction_id"])
        let kind = try fields.text("type")
        if let kind, !StoreStandIn.kinds.contains(kind) {
            throw ControlError.invalid("type", "must be one of \(StoreStandIn.kinds.joined(separator: ", "))")
        }
        let event = world.standIns.store.order(
            StoreStandIn.Order(
                user: try fields.required("user_id"),
                product: try fields.required("product_id"),
                kind: kind,
                expiresAt: try fields.time("expires_at"),
                transaction: try fields.text("transaction_id"),
                now: try await world.now()
            )
        )
        let headers = [(name: "Authorization", value: world.plan.storeSecret), (name: "Content-Type", value: "application/json")]
        let reply = try await world.client.send("POST", "/api/webhooks/revenuecat", headers, event.body)
        guard reply.status == 200 else {
            let text = String(decoding: reply.body, as: UTF8.self)
            throw ControlError.unavailable("The webhook was answered by \(reply.status): \(text)")
        }
        try await world.waitUntilQuiet()
        return Answer(status: 201, body: .texts(["event_id": event.id, "transaction_id": event.transaction]))
    }

    private static func require(_ method: String, _ call: Call) throws(ControlError) {
        guard call.method == method else { throw .method(method) }
    }

    private static func whole(
        _ query: [String: String],
        _ name: String,
        in range: ClosedRange<Int>,
        or fallback: Int
    ) throws(ControlError) -> Int {
        guard let text = query[name] else { return fallback }
        guard let number = Int(text), range.contains(number) else {
            throw .invalid(name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
