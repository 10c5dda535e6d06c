import Foundation
import TestSupport
import Testing

/// A repeated request has one effect and one answer (PF-4, PH-3).
struct IdempotencyTests {
    /// Two people who do not know each other yet.
    private func two() async throws -> (Person, Person) {
        let home = try await Installation.shared.value
        return (try await Person.register("ida", at: home), try await Person.register("joe", at: home))
    }

    @Test func `the same key and body get the same answer and have one effect`() async throws {
        let (ida, joe) = try await two()
        let first = try await ida.request(joe, key: "key-1")
        let second = try await ida.request(joe, key: "key-1")
        #expect(first.status == 201)
        #expect(second.status == 201, "\(second.text)")
        #expect(first.data == second.data)
        #expect(first.dataText == second.dataText, "byte for byte")
        #expect(try await ida.request(joe).code == "FRIEND_REQUEST_EXISTS", "without a key it is a second request")
        let accepted = try await joe.respond(try #require(first.data["friendship_id"].string), key: "key-1")
        #expect(accepted.status == 200, "another caller's key is another key")
    }

    @Test func `a repeat gets the first answer though the other has gone since`() async throws {
        let (ida, joe) = try await two()
        let kim = try await Person.register("kim", at: ida.home)
        let asked = try await ida.request(joe, key: "ask")
        let answered = try await kim.respond(
            try #require(try await ida.request(kim).data["friendship_id"].string),
            key: "accept"
        )
        let block = { try await ida.post("/api/blocks", "{\"user_id\":\"\(kim.id)\"}", key: "block") }
        let report = {
            try await ida.post(
                "/api/reports",
                "{\"subject_type\":\"user\",\"subject_id\":\"\(joe.id)\",\"reason\":\"spam\"}",
                key: "report"
            )
        }
        let (blocked, reported) = (try await block(), try await report())
        for reply in [asked, answered, blocked, reported] { #expect((200...201).contains(reply.status), "\(reply.text)") }
        for person in [joe, kim] { #expect(try await person.delete().status == 200) }
        try await eventually("the deletion is known everywhere") {
            try await ida.post("/api/blocks", "{\"user_id\":\"\(joe.id)\"}").status == 404
        }
        #expect((try await ida.request(joe, key: "ask")).dataText == asked.dataText)
        #expect((try await block()).dataText == blocked.dataText)
        #expect((try await report()).dataText == reported.dataText)
    }

    @Test func `a repeated acceptance shows the streak as the first did, whatever has happened since`() async throws {
        let (ida, joe) = try await two()
        let friendship = try #require(try await ida.request(joe).data["friendship_id"].string)
        let replies = try await simultaneously(16) { _ in try await joe.respond(friendship, key: "accept") }.map { try $0.get() }
        #expect(Set(replies.map(\.status)) == [200], "\(replies.map(\.text))")
        #expect(Set(replies.map(\.dataText)).count == 1)
        #expect(replies[0].data["streak"]["current_count"].int == 0)
        for person in [ida, joe] { #expect(try await person.upload(try Photos.jpeg(15)).status == 201) }
        #expect((try await joe.respond(friendship, key: "accept")).dataText == replies[0].dataText)
        #expect(try await joe.get("/api/streaks").data["streaks"][0]["current_count"].int == 1)
    }

    @Test func `the same key with another body is refused`() async throws {
        let (ida, joe) = try await two()
        let third = try await Person.register("kim", at: ida.home)
        #expect(try await ida.request(joe, key: "key-2").status == 201)
        let reused = try await ida.request(third, key: "key-2")
        #expect(reused.status == 400)
        #expect(reused.code == "IDEMPOTENCY_KEY_REUSED")
        #expect(try await third.get("/api/friends/requests").data["requests"].list.isEmpty)
        let key = String(repeating: "k", count: 256)
        let refused = try await ida.request(third, key: key)
        #expect(refused.code == "VALIDATION_ERROR")
        #expect(refused.fields == ["Idempotency-Key"])
    }

    @Test func `a refusal is not kept for the key`() async throws {
        let (ida, joe) = try await two()
        #expect(try await ida.request(Person(home: ida.home, username: "unknown.\(joe.username)"), key: "key-3").status == 404)
        #expect(try await ida.request(joe, key: "key-3").status == 201)
    }

    @Test func `sixteen requests with one key at once make one friend request`() async throws {
        let (ida, joe) = try await two()
        let replies = try await simultaneously(16) { _ in try await ida.request(joe, key: "key-4") }.map { try $0.get() }
        #expect(Set(replies.map(\.status)) == [201], "\(replies.map(\.text))")
        #expect(Set(replies.map(\.dataText)).count == 1)
        #expect(try await joe.get("/api/friends/requests").data["requests"].list.count == 1)
        try await eventually("Joe is notified") { try await !joe.notifications("friend_request").isEmpty }
        #expect(try await joe.notifications("friend_request").count == 1)
    }

    @Test func `sixteen requests without a key at once make one friend request`() async throws {
        let (ida, joe) = try await two()
        let replies = try await simultaneously(16) { _ in try await ida.request(joe) }.map { try $0.get() }
        #expect(replies.filter { $0.status == 201 }.count == 1)
        #expect(Set(replies.compactMap(\.code)) == ["FRIEND_REQUEST_EXISTS"])
        #expect(try await joe.get("/api/friends/requests").data["requests"].list.count == 1)
    }

    @Test func `sixteen uploads with one key at once make one snap`() async throws {
        let (ida, joe) = try await two()
        try await ida.befriend(joe)
        let photo = try Photos.jpeg(11)
        let replies = try await simultaneously(16) { _ in try await ida.upload(photo, key: "key-5") }.map { try $0.get() }
        #expect(Set(replies.map(\.status)) == [201], "\(replies.filter { $0.status != 201 }.map(\.text))")
        #expect(Set(replies.compactMap { $0.data["snap"]["id"].string }).count == 1)
        try await oneSnap(of: ida)
        let other = try await ida.upload(try Photos.jpeg(12), key: "key-5")
        #expect(other.code == "IDEMPOTENCY_KEY_REUSED", "\(other.text)")
    }

    @Test func `sixteen different photos at once without a key make one snap`() async throws {
        let (ida, joe) = try await two()
        try await ida.befriend(joe)
        let photos = try (0..<16).map { try Photos.jpeg(100 + $0, width: 64, height: 48) }
        let replies = try await withThrowingTaskGroup(of: HTTPReply.self) { group in
            for photo in photos { group.addTask { try await ida.upload(photo) } }
            return try await group.reduce(into: [HTTPReply]()) { $0.append($1) }
        }
        #expect(replies.filter { $0.status == 201 }.count == 1, "\(replies.map(\.status))")
        #expect(replies.filter { $0.status != 201 }.allSatisfy { $0.status == 409 && $0.code == "ALREADY_POSTED" })
        try await oneSnap(of: ida)
    }

    @Test func `the same bytes again get the first answer also without a key`() async throws {
        let (ida, joe) = try await two()
        try await ida.befriend(joe)
        let photo = try Photos.jpeg(13)
        let (first, second) = (try await ida.upload(photo), try await ida.upload(photo))
        #expect(first.status == 201)
        #expect(second.status == 201, "\(second.text)")
        #expect(first.data["snap"]["id"] == second.data["snap"]["id"])
        let third = try await ida.upload(try Photos.jpeg(14))
        #expect(third.status == 409)
        #expect(third.code == "ALREADY_POSTED")
        try await oneSnap(of: ida)
    }

    private func oneSnap(of person: Person) async throws {
        #expect(try await person.home.sql("SELECT count(*) FROM media.snap WHERE user_id = '\(person.id)'") == "1")
        #expect(try await person.sharedContributions() == "1")
    }
}
