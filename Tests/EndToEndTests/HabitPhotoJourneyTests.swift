import Foundation
import TestSupport
import Testing

/// Photos of habits, as an app sees them: by HTTP, from the upload to the last byte.
@Suite(.timeLimit(.minutes(5))) struct HabitPhotoJourneyTests {
    /// A user with a habit that is done today.
    private struct Runner {
        let ida: Person
        let habit: String
        let date: String
        let completion: String
        var home: Installation { ida.home }

        init(_ name: String) async throws {
            ida = try await Person.register(name, at: try await Installation.shared.value)
            let made = try await ida.post("/api/habits", "{\"name\":\"Run\"}")
            habit = try #require(made.data["id"].string, "\(made.text)")
            let done = try await ida.post("/api/habits/\(habit)/completions", "{}")
            date = try #require(done.data["date"].string, "\(done.text)")
            completion = try #require(done.data["completion"]["id"].string)
        }

        var path: String { "/api/habits/\(habit)/completions/\(date)/photo" }

        func set(_ photo: [UInt8]?, on date: String? = nil, key: String? = nil) async throws -> HTTPReply {
            try await ida.setHabitPhoto(photo, of: habit, on: date ?? self.date, key: key)
        }

        func delete() async throws -> HTTPReply { try await home.call("DELETE", path, token: ida.token) }

        /// The file behind a link.
        func file(_ link: String) async throws -> HTTPReply {
            let url = try #require(URL(string: link))
            return try await home.http.send("GET", url.path + "?" + (url.query ?? ""))
        }

        /// The photo that each reply with completions names.
        func named() async throws -> [JSON] {
            let sync = "{\"device_id\":\"\(UUID().uuidString.lowercased())\",\"schema_version\":1}"
            let sections = try await ida.get("/api/habits/today").data["sections"].list
            let cards = sections.flatMap { $0["habits"].list }
            let month = try await ida.get("/api/habits/\(habit)/calendar").data["days"].list
            return [
                try await ida.get("/api/habits/\(habit)").data["completions_today"][0]["photo_id"],
                try await ida.get("/api/habits/\(habit)/completions").data["completions"][0]["completion"]["photo_id"],
                cards[0]["last_completion"]["photo_id"],
                month.first { $0["date"].string == date }?["last_completion"]["photo_id"] ?? .null,
                try await ida.post("/api/sync", sync).data["completions"][0]["photo_id"],
            ]
        }

        var files: [String] { home.blobs(of: ida).filter { $0.contains("/habit-photos/") } }
    }

    @Test func `a photo is stored without metadata, named by every reply, and its owner's alone`() async throws {
        let runner = try await Runner("ida")
        #expect(try await runner.ida.get(runner.path).status == 404)
        let photo = try Photos.jpeg(61, width: 2_400, height: 300)
        let reply = try await runner.set(photo)
        try #require(reply.status == 200, "\(reply.text)")
        let id = try #require(reply.data["id"].string)
        #expect(reply.data["date"].string == runner.date && reply.data["habit_id"].string == runner.habit)
        for (name, side) in [("photo_url", (2_048, 256)), ("thumbnail_url", (300, 300))] {
            let file = try await runner.file(try #require(reply.data[name].string))
            #expect(file.status == 200 && file.header("Content-Type") == "image/jpeg")
            #expect(try #require(Photos.size(ofJPEG: file.body)) == side)
            #expect(Photos.metadata(in: file.body) == [])
        }
        #expect(try await runner.ida.get(runner.path).data["id"].string == id)
        try await eventually("completions name it") { try await runner.named().allSatisfy { $0.string == id } }
        #expect(try await runner.ida.get("/api/habits/export?format=json").text.contains("\"photo_id\":\"\(id)\""))
        let export = try await runner.ida.export().json
        #expect(export["media"]["habit_photos"].list.map { $0["id"].string } == [id])
        #expect(export["streaks"]["habit_completions"].list.map { $0["photo_id"].string } == [id])

        let eve = try await Person.register("eve", at: runner.home)
        #expect(try await eve.get(runner.path).status == 404)
        let hers = try await runner.home.call("DELETE", runner.path, token: eve.token)
        #expect(hers.status == 200, "it would be one of her own")
        #expect(try await runner.ida.get(runner.path).data["id"].string == id)
    }

    @Test func `another photo takes its place, a repeat none, and bad ones leave nothing`() async throws {
        let runner = try await Runner("ina")
        let first = try await runner.set(try Photos.jpeg(62), key: "photo-1")
        try #require(first.status == 200, "\(first.text)")
        #expect(try await runner.set(try Photos.jpeg(62), key: "photo-1").data == first.data)
        #expect(try await runner.set(try Photos.jpeg(63), key: "photo-1").code == "IDEMPOTENCY_KEY_REUSED")
        let second = try await runner.set(try Photos.jpeg(63))
        let id = try #require(second.data["id"].string, "\(second.text)")
        #expect(id != first.data["id"].string)
        let old = try #require(first.data["photo_url"].string)
        try await eventually("the bytes of the first are gone") {
            try await runner.file(old).status == 404 && runner.files.count == 2
        }
        let wrong: [([UInt8]?, String?, Int, String)] = [
            (Array("<svg/>".utf8), nil, 400, "UNSUPPORTED_IMAGE_TYPE"), (nil, nil, 400, "VALIDATION_ERROR"),
            (try Photos.jpeg(64), "2020-02-30", 400, "VALIDATION_ERROR"),
            (try Photos.jpeg(64), "2020-02-03", 404, "COMPLETION_NOT_FOUND"),
        ]
        for (bytes, date, status, code) in wrong {
            let reply = try await runner.set(bytes, on: date)
            #expect(reply.status == status && reply.code == code, "\(reply.text)")
        }
        #expect(runner.files.count == 2)
        try await eventually("completions name the second") { try await runner.named().allSatisfy { $0.string == id } }
    }

    @Test func `what is deleted is gone with its bytes: the photo, or the completion that it is of`() async throws {
        let runner = try await Runner("iris")
        let photo = try Photos.jpeg(65)
        // Deleted while its event is on the way to the completions.
        for _ in 0..<2 {
            #expect(try await runner.set(photo).status == 200)
            #expect(try await runner.delete().status == 200)
        }
        #expect(try await runner.delete().status == 200, "without one it changes nothing")
        #expect(try await runner.ida.get(runner.path).status == 404)
        try await eventually("every change has reached the completions") {
            try await runner.home.sql(
                """
                SELECT count(*) FROM media.outbox AS emitted WHERE aggregate = '\(runner.ida.id)' AND NOT EXISTS
                    (SELECT FROM streaks.inbox WHERE event_id = emitted.id AND feature = 'habits')
                """
            ) == "0"
        }
        #expect(try await runner.named().allSatisfy(\.isNull))
        try await eventually("no byte is left") { runner.files.isEmpty }

        let last = try await runner.set(photo)
        try #require(last.status == 200, "\(last.text)")
        try await eventually("the completion names it") { try await runner.named().allSatisfy { !$0.isNull } }
        let completion = "/api/habits/\(runner.habit)/completions/\(runner.completion)"
        #expect(try await runner.home.call("DELETE", completion, token: runner.ida.token).status == 200)
        try await eventually("the photo goes with it") {
            try await runner.ida.get(runner.path).status == 404 && runner.files.isEmpty
        }
        #expect(try await runner.set(photo).code == "COMPLETION_NOT_FOUND")
    }
}
