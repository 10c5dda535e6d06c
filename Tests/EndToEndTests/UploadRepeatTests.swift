import Foundation
import TestSupport
import Testing

/// The same photo again is the same snap, whatever comes between (PH-3), and a refusal says why it is one (PH-1).
struct UploadRepeatTests {
    private func friends() async throws -> (Person, Person, String) {
        let home = try await Installation.shared.value
        let (una, vic) = (try await Person.register("una", at: home), try await Person.register("vic", at: home))
        return (una, vic, try await una.befriend(vic))
    }

    /// The bytes of `data`, up to the envelope's end.
    private static func data(_ reply: HTTPReply) -> String {
        guard let start = reply.text.range(of: "\"data\":"), let end = reply.text.range(of: ",\"meta\":", options: .backwards)
        else {
            return reply.text
        }
        return String(reply.text[start.upperBound..<end.lowerBound])
    }

    /// One snap, one count, and no bytes but those of the snap.
    private func isOne(_ person: Person) async throws {
        #expect(try await person.home.sql("SELECT count(*) FROM media.snap WHERE user_id = '\(person.id)'") == "1")
        #expect(try await person.sharedContributions() == "1")
        #expect(
            try await person.home.sql(
                "SELECT contribution_count FROM streaks.streak WHERE kind = 1 AND '\(person.id)' = ANY(members)"
            ) == "1"
        )
        #expect(Self.files(of: person).count == 2, "\(Self.files(of: person).map(\.path))")
    }

    private static func files(of person: Person) -> [URL] {
        Files.all(below: person.home.data.appending(path: "blobs/snaps/\(person.id)"))
    }

    @Test func `sixteen uploads of the same bytes at once without a key all get the first answer`() async throws {
        let (una, _, _) = try await friends()
        let photo = try Photos.jpeg(201)
        let replies = try await simultaneously(16) { _ in try await una.upload(photo) }.map { try $0.get() }
        #expect(Set(replies.map(\.status)) == [201], "\(replies.filter { $0.status != 201 }.map(\.text))")
        #expect(Set(replies.map(Self.data)).count == 1, "byte for byte")
        try await isOne(una)
        #expect(Self.data(try await una.upload(photo)) == Self.data(replies[0]))
    }

    @Test func `sixteen keys for the same bytes at once all get the first answer`() async throws {
        let (una, _, _) = try await friends()
        let photo = try Photos.jpeg(202)
        let replies = try await simultaneously(16) { try await una.upload(photo, key: "own-\($0)") }.map { try $0.get() }
        #expect(Set(replies.map(\.status)) == [201], "\(replies.filter { $0.status != 201 }.map(\.text))")
        #expect(Set(replies.map(Self.data)).count == 1)
        try await isOne(una)
    }

    @Test func `the same streaks named in another way, and some of them, are the same`() async throws {
        let (una, _, streak) = try await friends()
        let wim = try await Person.register("wim", at: una.home)
        let other = try await una.befriend(wim)
        let photo = try Photos.jpeg(203)
        let replies = try await simultaneously(8) { try await una.upload(photo, to: $0 % 2 == 0 ? "all" : "\(other),\(streak)") }
            .map { try $0.get() }
        #expect(Set(replies.map(\.status)) == [201], "\(replies.filter { $0.status != 201 }.map(\.text))")
        #expect(Set(replies.map(Self.data)).count == 1)
        #expect(Self.data(try await una.upload(photo, to: other)) == Self.data(replies[0]), "one of the streaks it was posted to")
        #expect(try await una.home.sql("SELECT count(*) FROM media.snap WHERE user_id = '\(una.id)'") == "1")
        #expect(Self.files(of: una).count == 2)
    }

    @Test func `a repeat keeps the first answer when the friend has posted meanwhile`() async throws {
        let (una, vic, _) = try await friends()
        let photo = try Photos.jpeg(204)
        let first = try await una.upload(photo, key: "first")
        #expect(try await vic.upload(try Photos.jpeg(205)).data["streaks"][0]["current_count"].int == 1)
        for repeated in [try await una.upload(photo, key: "first"), try await una.upload(photo)] {
            #expect(repeated.status == 201, "\(repeated.text)")
            #expect(Self.data(repeated) == Self.data(first))
            #expect(repeated.data["streaks"][0]["current_count"].int == 0)
        }
    }

    @Test func `different photos at once leave one snap and no bytes of the others`() async throws {
        let (una, _, _) = try await friends()
        let photos = try (0..<8).map { try Photos.jpeg(210 + $0, width: 64, height: 48) }
        let replies = try await simultaneously(8) { try await una.upload(photos[$0], key: "photo-\($0)") }.map { try $0.get() }
        #expect(replies.filter { $0.status == 201 }.count == 1, "\(replies.map(\.status))")
        #expect(replies.filter { $0.status != 201 }.allSatisfy { $0.code == "ALREADY_POSTED" }, "\(replies.map(\.text))")
        try await isOne(una)
    }

    @Test func `a repeat of a refused snap gets the true reason, with and without a key`() async throws {
        let (una, vic, streak) = try await friends()
        let photo = try Photos.jpeg(220)
        // Nothing ends a friendship in this API yet, but the streak may have ended all the same.
        _ = try await una.home.sql("UPDATE streaks.streak SET ended_at = settled_at, status = 3 WHERE id = '\(streak)'")
        for key in ["refused", "refused", nil, nil] {
            let refused = try await una.upload(photo, to: streak, key: key)
            #expect(refused.status == 400, "\(refused.text)")
            #expect(refused.code == "STREAK_NOT_ACTIVE")
        }
        #expect(try await una.upload(photo).code == "NO_ACTIVE_STREAKS")
        _ = try await una.home.sql("UPDATE streaks.streak SET ended_at = NULL, status = 1 WHERE id = '\(streak)'")
        let taken = try await una.upload(photo, to: streak, key: "refused")
        #expect(taken.status == 201, "a refusal is not kept for the key: \(taken.text)")
        try await isOne(una)
        #expect(try await vic.upload(photo, to: streak).status == 201, "another's same bytes are another snap")
    }

    @Test func `an undecodable photo leaves nothing behind, and its key may be used again`() async throws {
        let (una, _, _) = try await friends()
        let broken = Array(try Photos.jpeg(230).prefix(200))
        for _ in 0..<2 { #expect(try await una.upload(broken, key: "broken").status == 400) }
        #expect(Self.files(of: una).isEmpty)
        #expect(try await una.upload(try Photos.jpeg(231), key: "broken").status == 201)
        try await isOne(una)
    }

    @Test func `no user posts before accepting the terms`() async throws {
        let home = try await Installation.shared.value
        var una = Person(home: home, username: Person.unique("una"))
        try una.take(try await home.call("POST", "/api/auth/register", json: una.registration()), 201)
        let vic = try await Person.register("vic", at: home)
        try await una.befriend(vic)
        let photo = try Photos.jpeg(240)
        let refused = try await una.upload(photo)
        #expect(refused.status == 400)
        #expect(refused.code == "TERMS_NOT_ACCEPTED", "\(refused.text)")
        #expect(Self.files(of: una).isEmpty)
        #expect(try await una.post("/api/users/me/terms", "{\"version\":\"\"}").fields == ["version"])
        let accepted = try await una.acceptTerms()
        #expect(accepted.data["terms_version"].string == "2026-01")
        #expect(try await una.upload(photo).status == 201, "at once, whether or not the event has arrived")
        #expect(try await una.get("/api/users/me").data["terms_version"].string == "2026-01")
    }
}
