import Bus
import Foundation
import Kernel
import Processes
import TestSupport
import Testing

/// A service of another team in another language, by `deploy/docs/bus-protocol.md` alone, beside an unchanged gateway.
struct ForeignServiceTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../Examples/python-service"
    ).standardized

    private let home: Installation
    private let folder: URL

    init() async throws {
        // Of its own: its routes come and go, and others read what the API has.
        home = try await Installation(["--services", Self.folder.appending(path: "services.json").path])
        folder = try Installation.makeFolder()
    }

    /// Starts `Tests/Examples/python-service`; returns when the gateway has its routes.
    private func start() async throws -> ChildProcess {
        let (log, ready) = (folder.appending(path: "log"), folder.appending(path: "ready"))
        let broker = "nats://quotes:\(try home.secret("nats-quotes"))@127.0.0.1:\(home.natsPort)"
        let key = home.data.appending(path: "secrets/service-key-quotes").path
        let protos = Self.folder.appending(path: "../../../Proto").standardized.path
        let service = try await ChildProcess.spawn(
            Command(
                executable: try await PythonPackages.foreignService.value,
                arguments: [
                    Self.folder.appending(path: "service.py").path, "--broker", broker, "--protos", protos, "--key", key,
                    "--ready",
                    ready.path,
                ],
                environment: Command.inherited(),
                output: log.path
            )
        )
        try await eventually("the service has started") {
            let output = Files.text(log) ?? ""
            try #require(!service.hasExited, "\(output)")
            return Files.text(ready) != nil
        }
        try await eventually("the gateway has its routes") {
            try await home.call("GET", "/api/testing/quotes/habits").status == 200
        }
        return service
    }

    @Test func `its RPCs are called over HTTP, its refusals are seen, and without it they are unavailable`() async throws {
        let service = try await start()
        let first = try await home.call("GET", "/api/testing/quotes/habits")
        #expect(first.data["by"].string == "Will Durant")
        let missing = try await home.call("GET", "/api/testing/quotes/nothing")
        #expect(missing.status == 404)
        #expect(missing.code == "QUOTE_NOT_FOUND")
        // The rules of its proto are its own to apply, details are passed on.
        let long = try await home.call("GET", "/api/testing/quotes/\(String(repeating: "x", count: 21))")
        #expect(long.status == 400)
        #expect(long.fields == ["topic"])

        let person = try await Person.register("paul", at: home)
        let said = try await home.call("PUT", "/api/testing/quotes/food", token: person.token, json: #"{"text":"Eat, Zoë 🦊"}"#)
        #expect(said.data["text"].string == "Eat, Zoë 🦊")
        #expect(said.data["by"].string == person.id)
        let guest = try await home.call("PUT", "/api/testing/quotes/food", json: #"{"text":"mine"}"#)
        #expect(guest.status == 401)
        #expect(try await home.call("GET", "/api/testing/quotes/food").data["by"].string == person.id)

        // What it checks itself, for services call it without a gateway.
        let bus = try await home.bus()
        let refused = await #expect(throws: ServiceError.self) { try await call("GetQuote", [], on: bus) }
        #expect(refused?.reason == "VALIDATION_ERROR")
        #expect(refused?.details.map(\.field) == ["topic"])

        try await isShownToAdministrators()

        service.signal(SIGTERM)
        #expect(await service.waitForExit() == 0)
        // Its route is there until it has been silent for five seconds.
        let away = try await home.call("GET", "/api/testing/quotes/habits")
        #expect(away.status == 503)
        #expect(away.code == "UNAVAILABLE")
        let unanswered = await #expect(throws: ServiceError.self) { try await call("GetQuote", [], on: bus) }
        #expect(unanswered?.code == .unavailable)
        try await eventually("its routes are gone") {
            try await home.call("GET", "/api/testing/quotes/habits").code == "NOT_FOUND"
        }
        await bus.close()
        try FileManager.default.removeItem(at: folder)
    }

    /// With what every service says of itself; what waits there it need not say.
    private func isShownToAdministrators() async throws {
        let admin = try await Person.administrator(at: home)
        func quotes(_ reply: HTTPReply) -> JSON? { reply.data["services"].list.first { $0["service"].string == "quotes" } }
        try await eventually("its replica is shown") {
            let replicas = quotes(try await admin.get("/api/admin/replicas"))?["replicas"].list ?? []
            return replicas.map { $0["version"].string } == ["1.0.0"] && (replicas.first?["requests"].int ?? 0) > 0
                && replicas.first?["started_at"].string != nil
        }
        try await eventually("it alone does not say what waits") {
            let backlogs = try await admin.get("/api/admin/backlogs")
            let answering = backlogs.data["services"].list.filter { $0["answers"].bool == true }
            return quotes(backlogs)?["answers"].bool == false && answering.count == 6
        }
        let redrive = try await admin.post("/api/admin/parked-events/redrive", "{\"service\":\"quotes\"}")
        #expect(redrive.status == 503 && redrive.code == "SERVICE_AWAY", "\(redrive.text)")
    }

    @Test func `its user on the bus may do what it needs, and nothing in the name of others`() async throws {
        let chief = try await home.bus()
        let service = try await home.bus(as: "quotes")
        let jetStream = JetStream(connection: chief)
        func last(_ stream: String) async throws -> Int { try await jetStream.streamInfo(stream).lastSequence }
        let (own, foreign) = (try await last("EVT_QUOTES"), try await last("EVT_SOCIAL"))
        // The flush comes back when the broker has looked at what was before it.
        try service.publish("evt.quotes.v1.Said", body: [])
        try service.publish("evt.social.v1.UserBlocked", body: [])
        try await service.flush()
        try await eventually("its own event is stored") { try await last("EVT_QUOTES") == own + 1 }
        #expect(try await last("EVT_SOCIAL") == foreign, "the broker refuses it")
        // A service that it may not call is not reached: the broker drops the request.
        await #expect(throws: ServiceError.self) {
            try await service.callRaw(
                subject: "rpc.billing.v1.SpendToken",
                body: [],
                context: .expiring(in: .milliseconds(500), principal: Principal(role: .service)),
                idempotent: false
            )
        }
        let said = Files.text(home.data.appending(path: "logs/nats.log"))?.split(separator: "\n") ?? []
        let refused = said.filter { $0.contains("Publish Violation") && $0.contains("\"quotes\"") }
        for subject in ["evt.social.v1.UserBlocked", "rpc.billing.v1.SpendToken"] {
            #expect(refused.contains { $0.contains("\"\(subject)\"") }, "\(refused)")
        }
        #expect(!refused.contains { $0.contains("quotes.v1") }, "\(refused)")
        await service.close()
        await chief.close()
        await home.guardian.end()
        try FileManager.default.removeItem(at: folder)
    }

    /// Calls one of its methods as another service would.
    private func call(_ method: String, _ body: [UInt8], on bus: BusConnection) async throws -> [UInt8] {
        try await bus.callRaw(
            subject: "rpc.quotes.v1.\(method)",
            body: body,
            context: .expiring(in: .seconds(10), principal: Principal(role: .service)),
            idempotent: true
        )
    }
}
