import Bus
import CommonAPI
import Foundation
import Kernel
import Logging
import Runtime
import TestingAPI
import TestSupport
import Testing

/// A service that the gateway was never built with (D2): it joins the bus while everything runs.
struct VisitorTests {
    private struct Greet: QueryHandler {
        func handle(_ request: GreetRequest, _: CallContext) async throws -> GreetReply {
            GreetReply(
                greeting: Array(repeating: "Hello \(request.name)!", count: Int(request.times ?? 1)).joined(separator: " ")
            )
        }
    }

    private struct Identify: QueryHandler {
        func handle(_: IdentifyRequest, _ context: CallContext) async throws -> IdentifyReply {
            IdentifyReply(
                userID: context.principal?.userID?.description ?? "",
                role: context.principal?.role.rawValue ?? "",
                requestID: context.requestID
            )
        }
    }

    private struct Usurp: QueryHandler {
        func handle(_: GreetRequest, _: CallContext) async throws -> GreetReply { GreetReply(greeting: "mine") }
    }

    /// On the bus since the first test asked for it; the gateway knows its routes.
    static let present = Task { () -> Installation in
        let file = try Installation.makeFolder().appending(path: "services.json")
        try await removeWhenTestsEnd(file.deletingLastPathComponent())
        try Data(#"{"services": [{"name": "testing", "database": false}]}"#.utf8).write(to: file)
        let home = try await Installation(["--services", file.path])
        let reply = DescriptorReply(descriptorSet: TestingDescriptor.bytes, sha256: TestingDescriptor.hash)
        let describe = Endpoint.descriptor(
            service: "testing",
            sha256: TestingDescriptor.hash,
            reply: try reply.serialized()
        )
        let key = try #require(ServiceKey(settingText: try home.secret("service-key-testing")))
        let signature = try key.sign(.descriptor(service: "testing", version: "0.1.0", sha256: TestingDescriptor.hash))
        let service = BusService(
            connection: try await home.bus(),
            name: "testing",
            version: "0.1.0",
            metadata: ["descriptor": TestingDescriptor.hash, ServiceStatement.descriptorField: signature],
            endpoints: VisitorService.endpoints(
                greet: Greet(),
                identify: Identify(),
                administer: Identify(),
                usurp: Usurp()
            ) + [describe],
            logger: Logger(label: "visitor") { _ in SwiftLogNoOpLogHandler() }
        )
        try #require(try await home.call("GET", "/api/testing/greetings/Ada").status == 404)
        try await service.start()
        try await eventually("the gateway takes the routes up without a restart", within: .seconds(60)) {
            try await home.call("GET", "/api/testing/greetings/Ada").status == 200
        }
        await kept.keep(service)
        return home
    }

    private static let kept = Store()

    private actor Store {
        private var services: [BusService] = []
        func keep(_ service: BusService) { services.append(service) }
    }

    @Test func `its routes are served`() async throws {
        let home = try await Self.present.value
        let reply = try await home.call("GET", "/api/testing/greetings/Ada%20L?times=2")
        #expect(reply.status == 200)
        #expect(reply.json["success"].bool == true)
        #expect(reply.data["greeting"].string == "Hello Ada L! Hello Ada L!")
        let posted = try await home.call("POST", "/api/testing/greetings", json: "{\"name\":\"Zoë 🦊\"}")
        #expect(posted.data["greeting"].string == "Hello Zoë 🦊!")
    }

    @Test func `its rules are applied`() async throws {
        let home = try await Self.present.value
        let many = try await home.call("POST", "/api/testing/greetings", json: "{\"name\":\"\",\"times\":4}")
        #expect(many.status == 400)
        #expect(Set(many.fields) == ["name", "times"])
        let unknown = try await home.call("GET", "/api/testing/greetings/Ada?shout=1")
        #expect(unknown.fields == ["shout"])
        let verb = try await home.call("DELETE", "/api/testing/greetings")
        #expect(verb.status == 405)
        #expect(verb.header("Allow") == "POST")
    }

    @Test func `it gets the caller's id`() async throws {
        let home = try await Self.present.value
        let person = try await Person.register("vic", at: home)
        let reply = try await home.call(
            "GET",
            "/api/testing/identity",
            token: person.token,
            headers: [("X-Request-Id", "who.asks-1")]
        )
        #expect(reply.data["user_id"].string == person.id)
        #expect(reply.data["role"].string == "user")
        #expect(reply.data["request_id"].string == "who.asks-1")
        #expect(try await home.call("GET", "/api/testing/identity").code == "AUTHENTICATION_REQUIRED")
    }

    @Test func `a user may not use an administrator's route`() async throws {
        let home = try await Self.present.value
        let person = try await Person.register("vic", at: home)
        let reply = try await person.get("/api/testing/administration")
        #expect(reply.status == 403)
        #expect(reply.code == "ADMIN_ONLY")
    }

    @Test func `headers of a client cannot make it another user`() async throws {
        let home = try await Self.present.value
        let person = try await Person.register("vic", at: home)
        let forged = [("principal-role", "admin"), ("principal-user-id", "01900000-0000-7000-8000-000000000000")]
        let reply = try await home.call("GET", "/api/testing/identity", token: person.token, headers: forged)
        #expect(reply.data["user_id"].string == person.id)
        #expect(reply.data["role"].string == "user")
    }

    @Test func `a path that is taken stays with its owner, and the refusal is reported`() async throws {
        let home = try await Self.present.value
        var person = try await Person.register("vic", at: home)
        try await person.signIn()
        #expect(try await home.call("POST", "/api/testing/login", json: "{\"name\":\"x\"}").data["greeting"].string == "mine")
        try await eventually("the refusal is logged") {
            home.logs.split(separator: "\n").contains { $0.contains("a route was refused") && $0.contains("/api/auth/login") }
        }
    }

    @Test func `its routes are described`() async throws {
        let home = try await Self.present.value
        let paths = try await home.call("GET", "/openapi.json").json["paths"]
        #expect(paths["/api/testing/greetings/{name}"]["get"]["summary"].string?.hasPrefix("Greets a person") == true)
        #expect(paths.names.contains("/api/testing/greetings"))
    }

    @Test func `it cannot be reached by what is internal`() async throws {
        let home = try await Self.present.value
        #expect(try await home.call("POST", "/api/testing/echo", json: "{}").status == 404)
    }
}
