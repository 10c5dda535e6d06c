import Foundation
import Kernel
import Processes
import TestSupport
import Testing

/// What an open app is sent (NO-7), over HTTP.
@Suite(.serialized) struct LiveTests {
    /// The program `Fixtures/live_client.py`.
    private final class Client: Sendable {
        let log: URL
        private let program: ChildProcess

        init(_ person: Person, port: UInt16? = nil, after id: Int? = nil) async throws {
            log = person.home.data.appending(path: "live-\(UUID().uuidString.lowercased()).jsonl")
            let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/live_client.py").path
            program = try await ChildProcess.spawn(
                Command(
                    executable: "python3",
                    arguments: [script, "\(port ?? person.home.http.port)", person.token] + (id.map { ["\($0)"] } ?? []),
                    environment: Command.inherited(),
                    output: log.path
                )
            )
        }

        private var lines: [JSON] {
            // The last may be written at this moment.
            (Files.text(log) ?? "").split(separator: "\n").compactMap { try? JSON(Array($0.utf8)) }
        }
        var first: JSON { lines.first ?? .null }
        var events: [JSON] { lines.filter { $0["event"].string != nil } }
        var ids: [Int] { events.compactMap { $0["id"].string.flatMap { Int($0) } } }
        var hasEnded: Bool { lines.last?["ended"].bool == true }
        func all(_ name: String) -> [JSON] { events.filter { $0["event"].string == name }.map { $0["data"] } }

        func untilOpen() async throws {
            try await eventually("the stream is open: \(lines)") { first["status"].int == 200 }
        }

        func kill() async {
            program.signal(SIGKILL)
            _ = await program.waitForExit()
        }
    }

    @Test func `an open app is sent its notifications, its streaks and the unread count, and no address or text`() async throws {
        let home = try await Installation.shared.value
        let (ann, ben) = (try await Person.register("ann", at: home), try await Person.register("ben", at: home))
        let client = try await Client(ann)
        try await client.untilOpen()
        let streak = try await ben.befriend(ann)
        try await eventually("all is there: \(client.events)") {
            !client.all("notification").isEmpty && !client.all("unread_count").isEmpty && !client.all("streak").isEmpty
        }
        #expect(client.first["type"].string == "text/event-stream; charset=utf-8")
        #expect(client.events.first?["event"].string == "reset")
        let entry = try #require(client.all("notification").first)
        let log = try await ann.get("/api/notifications").data
        #expect(entry["notification_id"].string == log["notifications"][0]["id"].string)
        #expect(entry["type"].string == "friend_request")
        #expect(client.all("unread_count").last?["unread_count"].int == log["unread_count"].int)
        #expect(client.all("streak").first?["streak_id"].string == streak)
        #expect(client.all("streak").first?["status"].string == "active")
        #expect(try await ben.upload(try Photos.jpeg(301), caption: "Not for the stream").status == 201)
        try await eventually("the friend's snap is there: \(client.events)") { client.all("notification").count >= 2 }
        for event in client.events {
            let text = "\(event["data"])"
            #expect(!text.contains("://") && !text.contains("/media/") && !text.contains("Not for"), "\(text)")
        }
        #expect(client.ids == Array(client.ids[0]..<(client.ids[0] + client.ids.count)))
        await client.kill()
        // They are what the description of the API says, in each kind.
        let page = try await home.call("GET", "/openapi.json")
        let check = [PythonPackages.file("OpenAPI/events.py"), "/api/events", client.log.path]
        let result = try await run(try await PythonPackages.openAPI.value, check, input: page.body)
        #expect(result.status == 0, "\(result.transcript.suffix(5_000))")
        #expect(result.text == "notification reset streak unread_count\n")
    }

    @Test func `another device sees check-ins, activities, habits and a sync, and another person sees nothing of them`()
        async throws
    {
        let home = try await Installation.shared.value
        let (ann, ben) = (try await Person.register("ann", at: home), try await Person.register("ben", at: home))
        let (device, other) = (try await Client(ann), try await Client(ben))
        try await device.untilOpen()
        try await other.untilOpen()
        let entry =
            "{\"check_in_time\":\"\(Date().ISO8601Format())\",\"mood_score\":8,\"energy_level\":7,\"notes\":\"Not for the stream\"}"
        #expect(try await ann.post("/api/mobile/streaks/check-in", entry).status == 200)
        #expect(try await ann.post("/api/streaks/typed/recipe_creation/activity", "{}").status == 200)
        func extended() -> [JSON] { device.all("solo_streak").filter { $0["change"].string == "extended" } }
        try await eventually("both streaks are there: \(device.events)") {
            Set(extended().compactMap { $0["kind"].string }) == ["check_in", "recipe_creation"]
        }
        #expect(extended().allSatisfy { $0["count"].int == 1 && $0["status"].string == "active" })
        #expect(extended().allSatisfy { $0["deadline_at"].string?.hasSuffix("Z") == true }, "\(extended())")
        let habit = try #require(try await ann.post("/api/habits", "{\"name\":\"Not for the stream\"}").data["id"].string)
        #expect(try await ann.post("/api/habits/\(habit)/completions", "{}").status == 201)
        try await eventually("the habit and its completion are there: \(device.events)") { device.all("habits").count == 2 }
        let changes = device.all("habits").map { $0["changes"].list }
        #expect(changes.map(\.count) == [1, 1] && changes.allSatisfy { $0[0]["habit_id"].string == habit }, "\(changes)")
        #expect(changes[0][0]["entity"].string == "habit" && changes[0][0]["status"].string == "active", "\(changes)")
        #expect(changes[1][0]["entity"].string == "date" && changes[1][0]["status"].string == "done", "\(changes)")
        #expect(changes[1][0]["count"].int == 1)
        try await syncMuch(ann, device)
        // What comes to the other person comes behind what was before.
        #expect(try await ann.request(ben).status == 201)
        try await eventually("the request is there") { !other.all("notification").isEmpty }
        #expect(Set(other.events.compactMap { $0["event"].string }).isSubset(of: ["reset", "notification", "unread_count"]))
        #expect(!"\(device.events)".contains("Not for"), "\(device.events)")
        await device.kill()
        await other.kill()
        let page = try await home.call("GET", "/openapi.json")
        let check = [PythonPackages.file("OpenAPI/events.py"), "/api/events", device.log.path]
        let result = try await run(try await PythonPackages.openAPI.value, check, input: page.body)
        #expect(result.status == 0, "\(result.transcript.suffix(5_000))")
        #expect(result.text.contains("habits") && result.text.contains("solo_streak"), "\(result.text)")
    }

    /// A phone that was offline has changed more than an event names: one event says so.
    private func syncMuch(_ ann: Person, _ device: Client) async throws {
        var phone = HabitPhone()
        let today = try #require(try await ann.get("/api/habits/today").data["date"].string.flatMap { CalendarDate($0) })
        for days in 0..<25 { phone.note("Not for the stream", on: today.advanced(by: -days)) }
        try await phone.sync(ann)
        try await eventually("the sync is there: \(device.all("habits"))") { device.all("habits").count == 3 }
        let event = device.all("habits")[2]
        #expect(event["changes"].list.isEmpty, "\(event)")
        let numbers = Set(phone.copy.notes.values.compactMap { $0["sequence"].int })
        #expect(phone.copy.notes.count == 25 && numbers == [event["sequence"].int ?? 0], "\(numbers) \(event)")
    }

    @Test func `a stream closes when its session ends, and others' streams stay`() async throws {
        let home = try await Installation.shared.value
        var ann = try await Person.register("ann", at: home)
        let first = try await Client(ann)
        try await first.untilOpen()
        let ended = ann
        try await ann.signIn()
        let second = try await Client(ann)
        try await second.untilOpen()
        #expect(try await ended.post("/api/auth/logout").status == 200)
        try await eventually("the first closes") { first.hasEnded }
        let ben = try await Person.register("ben", at: home)
        #expect(try await ben.request(ann).status == 201)
        try await eventually("the second goes on") { !second.all("notification").isEmpty }
        #expect(first.all("notification").isEmpty && !second.hasEnded)
        await second.kill()
    }

    @Test func `nothing is lost over a kill of notifications and a change of the gateway, and a sixth stream is refused`()
        async throws
    {
        let home = try await Installation(["--separate"])
        let port = try Installation.freePorts(1)[0]
        let second = try await home.replica(of: "gateway", settings: ["STREAKSNAP_HTTP_PORT": "\(port)"])
        let other = HTTPClient(port: port)
        try await eventually("the second gateway is ready") { (try? await other.send("GET", "/readyz"))?.status == 200 }
        let ann = try await Person.register("ann", at: home)
        let client = try await Client(ann)
        try await client.untilOpen()
        try await eventually("it has begun") { client.ids.count == 1 }
        var askers: [Person] = []
        for number in 0..<6 {
            let asker = try await Person.register("asker\(number)", at: home)
            if number == 3, let running = home.process(of: "notifications") { kill(running, SIGKILL) }
            #expect(try await asker.request(ann).status == 201)
            askers.append(asker)
        }
        try await eventually("all six have arrived: \(client.events)", within: .seconds(120)) {
            client.all("notification").count == 6
        }
        await client.kill()
        // What happens while no stream is open.
        for number in 6..<9 {
            let asker = try await Person.register("asker\(number)", at: home)
            #expect(try await asker.request(ann).status == 201)
        }
        let last = try #require(client.ids.last)
        let next = try await Client(ann, port: port, after: last)
        try await next.untilOpen()
        try await eventually("it goes on where the first one ended: \(next.events)", within: .seconds(120)) {
            next.all("notification").count == 3 && next.all("unread_count").last?["unread_count"].int == 9
        }
        let ids = client.ids + next.ids
        #expect(ids == Array(ids[0]..<(ids[0] + ids.count)), "each once, in order, none missing")
        #expect(next.all("reset").isEmpty)
        try await refuseSixth(ann, next, ports: [home.http.port, port])
        second.signal(SIGTERM)
        _ = await second.waitForExit()
        await home.guardian.end()
    }

    /// Four more beside one that is open, over both gateways; then one too many.
    private func refuseSixth(_ ann: Person, _ open: Client, ports: [UInt16]) async throws {
        // That of the client that was killed has ended.
        try await eventually("one lease is left") {
            try await ann.home.sql("SELECT count(*) FROM notifications.live_lease WHERE user_id = '\(ann.id)'") == "1"
        }
        var clients = [open]
        for number in 0..<4 {
            let client = try await Client(ann, port: ports[number % 2])
            try await client.untilOpen()
            clients.append(client)
        }
        for port in ports {
            let sixth = try await Client(ann, port: port)
            try await eventually("it is refused") { sixth.first["status"].int != nil }
            #expect(sixth.first["status"].int == 429 && sixth.first["code"].string == "TOO_MANY_STREAMS", "\(sixth.first)")
        }
        await clients.removeLast().kill()
        try await eventually("there is room again") {
            let client = try await Client(ann, port: ports[0])
            try await eventually("it has its answer") { client.first["status"].int != nil }
            await client.kill()
            return client.first["status"].int == 200
        }
        for client in clients { await client.kill() }
    }
}
