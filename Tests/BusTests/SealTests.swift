import Kernel
import Logging
import TestSupport
import Testing

@testable import Bus

private let (notesKey, listsKey) = (String(repeating: "n", count: 32), String(repeating: "l", count: 40))
private let gatewayKeys = "notes:\(notesKey)\nlists:\(listsKey)\n"

/// A check of the service `notes` that takes what `lists` passes on at its method `Echo`.
private func notesCheck(_ keys: String = notesKey) throws -> SealCheck {
    try SealCheck(service: "notes", keys: keys) { first, subject in
        first.hasPrefix("rpc.lists.") && subject == Notes.echo.subject
    }
}

/// What a gateway seals and a service believes (D23).
@Suite struct SealTests {
    private static let ann = Principal(
        userID: UserID(high: 1, low: 2),
        role: .user,
        sessionID: SessionID(high: 3, low: 4)
    )

    private static func context(_ principal: Principal? = ann) -> CallContext {
        CallContext(
            requestID: "r-1",
            deadline: SystemClock.now() + .seconds(20),
            principal: principal,
            clientAddress: IPAddress("2001:db8::1")
        )
    }

    private static func sealed(_ context: CallContext = context(), for subject: String = Notes.echo.subject) throws -> CallContext
    {
        try Sealer(gatewayKeys).sealed(context, for: subject)
    }

    /// As the service reads it.
    private static func arrived(_ context: CallContext) -> CallContext {
        CallContext(CallFields(context.headers), timeout: .seconds(30))
    }

    private func problem(
        _ context: CallContext,
        at subject: String = Notes.echo.subject,
        _ check: SealCheck? = nil
    ) throws -> SealCheck.Problem? {
        var context = Self.arrived(context)
        return try (check ?? notesCheck()).problem(with: &context, at: subject)
    }

    @Test(arguments: [ann, Principal(userID: UserID(high: 9, low: 9), role: .admin), Principal(role: .guest), nil])
    func `what a gateway says is believed, about every kind of caller`(principal: Principal?) throws {
        let context = try Self.sealed(Self.context(principal))
        #expect(try problem(context) == nil)
        var arrived = Self.arrived(context)
        #expect(try notesCheck().problem(with: &arrived, at: Notes.echo.subject) == nil)
        #expect(arrived.principal == principal && arrived.clientAddress == context.clientAddress)
    }

    /// What can be changed about a sealed request.
    private static let forgeries: [(String, @Sendable (inout CallContext) -> Void)] = [
        ("the role", { $0.principal?.role = .admin }), ("a role of a service", { $0.principal?.role = .service }),
        ("the user", { $0.principal?.userID = UserID(high: 1, low: 3) }), ("no user", { $0.principal?.userID = nil }),
        ("the session", { $0.principal?.sessionID = SessionID(high: 3, low: 5) }),
        ("no session", { $0.principal?.sessionID = nil }), ("no principal", { $0.principal = nil }),
        ("a service", { $0.principal = Principal(role: .service) }),
        ("the address", { $0.clientAddress = IPAddress("2001:db8::2") }), ("no address", { $0.clientAddress = nil }),
        ("the request", { $0.requestID = "r-2" }),
        (
            "the deadline of the seal",
            { context in
                let seal = context.seal ?? ""
                context.seal = "9" + seal.dropFirst()
            }
        ),
        ("the method of the seal", { $0.seal = $0.seal?.replacing("v1.Echo", with: "v1.Change") }),
        ("the code", { $0.seal = $0.seal?.replacing("notes=", with: "notes=A") }),
        (
            "the code of another service",
            { context in
                let codes = (context.seal ?? "").split(separator: "=")
                context.seal = context.seal?.replacing("notes=\(codes[1].prefix(22))", with: "notes=\(codes[2])")
            }
        ),
        ("no code", { $0.seal = $0.seal?.replacing("notes=", with: "nobler=") }), ("half a seal", { $0.seal = "1" }),
        ("an empty one", { $0.seal = ";;;;" }), ("none of a seal", { $0.seal = "notes=" }),
    ]

    @Test(arguments: forgeries.indices) func `nothing of it can be changed`(index: Int) throws {
        let (what, change) = Self.forgeries[index]
        var context = try Self.sealed()
        let before = Self.arrived(context)
        change(&context)
        let after = Self.arrived(context)
        #expect(
            before.seal != after.seal || before.principal != after.principal || before.requestID != after.requestID
                || before.clientAddress != after.clientAddress
        )
        #expect(try problem(context) == .forged, "\(what)")
    }

    @Test func `without a seal only a service that acts for itself is believed`() throws {
        for principal in [Self.ann, Principal(role: .guest), Principal(userID: UserID(high: 1, low: 2), role: .service)] {
            #expect(try problem(Self.context(principal)) == .missing, "\(principal)")
        }
        for principal in [nil, Principal(role: .service)] {
            var context = Self.arrived(Self.context(principal))
            #expect(try notesCheck().problem(with: &context, at: Notes.echo.subject) == nil)
            #expect(context.clientAddress == nil, "an address is a claim too")
        }
    }

    @Test func `a service cannot seal for another`() throws {
        // `lists` has been taken over: it knows its own key.
        let forged = try Sealer("notes:\(listsKey) lists:\(listsKey)").sealed(Self.context(), for: Notes.echo.subject)
        #expect(try problem(forged) == .forged)
    }

    @Test func `a seal ends with the deadline of its request`() throws {
        var context = Self.context()
        context.deadline = SystemClock.now() - .seconds(1)
        var replayed = try Self.sealed(context)
        replayed.deadline = SystemClock.now() + .seconds(20)
        #expect(try problem(replayed) == .expired)
        // And gives no more time than it has.
        var longer = try Self.sealed()
        let end = longer.deadline
        longer.deadline = end + .minutes(10)
        var arrived = Self.arrived(longer)
        #expect(try notesCheck().problem(with: &arrived, at: Notes.echo.subject) == nil)
        #expect(arrived.deadline.milliseconds == end.milliseconds)
    }

    @Test func `a seal of one method serves another only where a service may pass it on`() throws {
        let other = try Self.sealed(for: Notes.change.subject)
        #expect(try problem(other) == .otherMethod)
        #expect(try problem(other, at: Notes.change.subject) == nil)
        let passedOn = try Self.sealed(for: "rpc.lists.v1.Show")
        #expect(try problem(passedOn) == nil)
        #expect(try problem(passedOn, at: Notes.change.subject) == .otherMethod)
    }

    @Test func `a call for a request goes with its seal, one as another principal without`() throws {
        let context = Self.arrived(try Self.sealed())
        let child = context.child(timeout: .seconds(1))
        #expect(child.seal == context.seal && child.seal != nil)
        #expect(try problem(child) == nil)
        let own = context.child(principal: Principal(role: .service))
        #expect(own.seal == nil)
        #expect(try problem(own) == nil)
        #expect(try problem(context.child(principal: Principal(userID: UserID(high: 7, low: 7), role: .user))) == .missing)
    }

    @Test func `two keys are good while one replaces the other`() throws {
        let next = String(repeating: "m", count: 32)
        let both = try notesCheck("\(notesKey) \(next)")
        #expect(try problem(try Self.sealed(), at: Notes.echo.subject, both) == nil)
        let renewed = try Sealer("notes:\(next)").sealed(Self.context(), for: Notes.echo.subject)
        #expect(try problem(renewed, at: Notes.echo.subject, both) == nil)
        #expect(try problem(renewed) == .forged)
    }

    @Test func `keys that are none are refused`() throws {
        for text in ["", "notes", "notes:short", "notes:\(notesKey) notes:\(listsKey)", "Notes:\(notesKey)", ":\(notesKey)"] {
            #expect(throws: SealKeyProblem.self, "\(text)") { try Sealer(text) }
        }
        for text in ["", "short", "\(notesKey) \(notesKey) \(notesKey)"] {
            #expect(throws: SealKeyProblem.self, "\(text)") { try notesCheck(text) }
        }
        let problem = #expect(throws: SealKeyProblem.self) { try Sealer("notes:short") }
        #expect(problem?.message.contains("short") == false, "an error shows no key")
    }
}

extension BrokerTests {
    @Suite struct SealedRequestTests {
        private static let ann = Principal(userID: UserID(high: 1, low: 2), role: .user)

        /// A connection as a gateway has one.
        private func gateway(_ server: NatsServer, _ keys: String = gatewayKeys) async throws -> BusConnection {
            let sealer = try Sealer(keys)
            return try await server.connect("gateway") { $0.sealer = sealer }
        }

        /// Answers with the role and the user that it believes.
        private func start(
            _ bus: BusConnection,
            _ calls: Shared<Int>,
            _ observer: (any RPCObserver)? = nil,
            _ logger: Logger = quiet
        )
            async throws -> BusService
        {
            let endpoints = [Notes.echo, Notes.change].map { method in
                Endpoint(method) { _, context in
                    calls.update { $0 += 1 }
                    return Note("\(context.principal.map { "\($0.role)" } ?? "none") \(context.principal?.userID?.low ?? 0)")
                }
            }
            let service = BusService(
                connection: bus,
                name: "notes",
                version: "1.0.0",
                endpoints: endpoints,
                seals: try notesCheck(),
                logger: logger,
                observer: observer
            )
            try await service.start()
            return service
        }

        @Test func `a forged principal reaches no handler, is counted and logged once`() async throws {
            try await withBus { server, attacker in
                let (calls, observer, lines) = (Shared(0), CountingObserver(), Shared<[String]>([]))
                let service = try await start(attacker, calls, observer, recording(lines))
                for role in Principal.Role.allCases {
                    let principal = Principal(userID: UserID(high: 1, low: 2), role: role)
                    try await expectFailure(.unauthenticated) {
                        try await attacker.call(Notes.echo, "x", context: CallContext(principal: principal))
                    }
                }
                // By a header of its own beside what is packed.
                let gateway = try await gateway(server)
                let context = try Sealer(gatewayKeys).sealed(CallContext(principal: Self.ann), for: Notes.echo.subject)
                for (name, value) in [("principal-role", "admin"), ("principal-user", UserID(high: 5, low: 5).description)] {
                    var headers = context.headers
                    headers.append(name, value)
                    let reply = try await attacker.request(
                        Notes.echo.subject,
                        headers: headers,
                        body: Array("x".utf8),
                        deadline: SystemClock.now() + .seconds(10)
                    )
                    #expect(ServiceError(reply: reply)?.reason == "PRINCIPAL_NOT_SEALED", "\(name)")
                }
                // What a gateway sealed for one method, sent to another.
                let reply = try await attacker.request(
                    Notes.change.subject,
                    headers: context.headers,
                    body: Array("x".utf8),
                    deadline: SystemClock.now() + .seconds(10)
                )
                #expect(ServiceError(reply: reply)?.reason == "SEALED_FOR_ANOTHER_METHOD")
                #expect(calls.value == 0)
                let refused = Principal.Role.allCases.count + 3
                try await eventually("all are counted") { observer.rpcs.value.count { $0.fate == .unsealed } == refused }
                #expect(lines.value.count { $0.contains("no gateway has sealed") } == 1, "\(lines.value)")

                #expect(try await gateway.call(Notes.echo, "x", context: CallContext(principal: Self.ann)) == "user 2")
                #expect(try await gateway.call(Notes.echo, "x", context: CallContext()) == "none 0")
                let own = CallContext(principal: Principal(role: .service))
                #expect(try await attacker.call(Notes.echo, "x", context: own) == "service 0")
                await gateway.close()
                await service.drain()
            }
        }

        @Test func `a service passes on what it got, and nothing of its own invention`() async throws {
            try await withBus { server, bus in
                let service = try await start(bus, Shared(0))
                let show = Method<Note, Note>(service: "lists", version: "v1", name: "Show", isIdempotent: true)
                let lists = BusService(
                    connection: bus,
                    name: "lists",
                    version: "1.0.0",
                    endpoints: [
                        Endpoint(show) { note, context in
                            var context = context
                            if note.text == "forge" { context.principal?.role = .admin }
                            let method = note.text == "change" ? Notes.change : Notes.echo
                            return try await bus.call(method, note, context: context.child(timeout: .seconds(5)))
                        }
                    ],
                    seals: try SealCheck(service: "lists", keys: listsKey) { _, _ in false },
                    logger: quiet
                )
                try await lists.start()
                let gateway = try await gateway(server)
                let context = CallContext(principal: Self.ann)
                #expect(try await gateway.call(show, "plain", context: context) == "user 2")
                try await expectFailure(.unauthenticated) { try await gateway.call(show, "forge", context: context) }
                try await expectFailure(.permissionDenied) { try await gateway.call(show, "change", context: context) }
                await gateway.close()
                await lists.drain()
                await service.drain()
            }
        }
    }
}
