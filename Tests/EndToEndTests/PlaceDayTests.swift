import Foundation
import TestSupport
import Testing

/// A city's day through HTTP (PL-1 to PL-5, SO-7 to SO-9, AU-7): guests, strangers, blocks, votes, refused pictures, reports, a decision, and an
/// author who deletes the account.
@Suite(.timeLimit(.minutes(30))) struct PlaceDayTests {
    private static let area = "/api/posts?bbox=2.2,48.8,2.5,48.95"
    private let queue = "/api/admin/moderation/reports"

    private func ids(_ reply: HTTPReply) -> [String] { reply.data["posts"].list.compactMap { $0["id"].string } }

    private func report(_ post: String, by person: Person) async throws -> HTTPReply {
        let body = "{\"subject_type\":\"post\",\"subject_id\":\"\(post)\",\"reason\":\"inappropriate\"}"
        return try await person.post("/api/reports", body, key: UUID().uuidString)
    }

    private func act(_ action: String, on report: String, by moderator: Person) async throws -> HTTPReply {
        let headers = [("Idempotency-Key", UUID().uuidString)]
        let body = "{\"action\":\"\(action)\",\"note\":\"seen\"}"
        return try await moderator.home.call("PUT", "\(queue)/\(report)", token: moderator.token, json: body, headers: headers)
    }

    private func vote(_ way: String, on post: String, by person: Person) async throws -> HTTPReply {
        try await person.home.call("PUT", "/api/posts/\(post)/vote", token: person.token, json: "{\"vote\":\"\(way)\"}")
    }

    /// A link's path with its query.
    private func target(_ link: JSON) throws -> String {
        let url = try #require(link.string.flatMap { URL(string: $0) })
        return url.path + "?" + (url.query ?? "")
    }

    /// Who acts in the city.
    private struct City {
        let home: Installation
        let rekognition: RekognitionServer
        var ada: Person
        let people: [Person]
        let moderator: Person
        let guest: String

        init() async throws {
            rekognition = try await RekognitionServer()
            home = try await Installation(
                ["--dev-clock"],
                environment: [
                    "STREAKSNAP_MEDIA_MODERATION_URL": rekognition.url,
                    "STREAKSNAP_MEDIA_MODERATION_REGION": RekognitionServer.region,
                    "STREAKSNAP_MEDIA_MODERATION_KEY_ID": RekognitionServer.keyID,
                    "STREAKSNAP_MEDIA_MODERATION_SECRET": RekognitionServer.secret,
                ]
            )
            ada = try await Person.register("ada", at: home)
            var people: [Person] = []
            for name in ["ben", "cem", "dan", "eve"] { people.append(try await Person.register(name, at: home)) }
            self.people = people
            // Reports of accounts that are new and unverified hide nothing.
            _ = try await home.sql("UPDATE auth.account SET email_verified_at = now()")
            var moderator = try await Person.register("moira", at: home)
            _ = try await home.sql("UPDATE auth.account SET is_admin = true WHERE id = '\(moderator.id)'")
            try await moderator.signIn()
            self.moderator = moderator
            let guest = try await home.call("POST", "/api/auth/guest", json: "{\"device_id\":\"\(UUID().uuidString)\"}")
            self.guest = try #require(guest.data["access_token"].string)
        }

        /// Posts a photo in the city.
        func post(_ seed: UInt64, by person: Person) async throws -> String {
            let reply = try await person.pin(try Photos.jpeg(seed), at: 48.8584, 2.2945)
            try #require(reply.status == 201, "\(reply.text)")
            return try #require(reply.data["post"]["id"].string)
        }
    }

    @Test func `a city's day`() async throws {
        var city = try await City()
        try await morning(city)
        let (hidden, kept) = try await noon(city)
        try await evening(city, hidden, kept)
        try await night(&city, kept)
        #expect(try city.rekognition.requests.allSatisfy { $0.refusal == nil }, "every request was as AWS documents it")
        await city.home.guardian.end()
    }

    /// Pictures are screened: one is refused, one is not looked at, one is doubtful.
    private func morning(_ city: City) async throws {
        let ben = city.people[0]
        try city.rekognition.find("Explicit", 98.5)
        let refused = try await ben.pin(try Photos.jpeg(501), at: 48.8584, 2.2945)
        #expect(refused.status == 400 && refused.code == "CONTENT_REJECTED", "\(refused.text)")
        #expect(city.home.blobs(of: ben).isEmpty, "nothing of it is kept")
        #expect(ids(try await ben.get("/api/posts?mine=true")).isEmpty)
        try city.rekognition.behave(#"{"status":400,"type":"ThrottlingException"}"#)
        let unseen = try await city.post(502, by: ben)
        try city.rekognition.find("Wine", of: "Alcohol", 60)
        let doubtful = try await city.post(503, by: ben)
        try city.rekognition.behave("{}")
        #expect(Set(ids(try await city.home.call("GET", Self.area, token: city.guest))) == [unseen, doubtful], "published")
        let (moderator, queue) = (city.moderator, queue)
        try await eventually("they are in the queue") { try await moderator.get(queue).data["reports"].list.count == 2 }
        let entries = try await moderator.get(queue).data["reports"].list
        for (post, source) in [(unseen, "unreachable"), (doubtful, "labels")] {
            let entry = try #require(entries.first { $0["subject_id"].string == post })
            #expect(entry["source"].string == source && entry["reporter_id"].isNull && entry["owner"]["user_id"].string == ben.id)
            let picture = try await city.home.http.send("GET", try target(entry["post"]["thumbnail_url"]))
            #expect(picture.status == 200, "the moderators see the picture")
            let acted = try await act("dismiss", on: try #require(entry["report_id"].string), by: moderator)
            #expect(acted.status == 200, "\(acted.text)")
        }
        #expect(entries.contains { $0["labels"].list.first?["name"].string == "Wine" })
        try await eventually("the refusal is in the log") {
            let log = try await moderator.get("\(queue)?status=actioned").data["reports"].list
            return log.first?["action"]["action"].string == "remove"
                && log.first?["labels"].list.first?["name"].string == "Explicit"
        }
        for post in [unseen, doubtful] {
            try #require(try await city.home.call("DELETE", "/api/posts/\(post)", token: ben.token).status == 200)
        }
    }

    /// Strangers vote, one blocks, three report. - Returns: the post that is hidden, and another of the same author.
    private func noon(_ city: City) async throws -> (hidden: String, kept: String) {
        let (ada, people) = (city.ada, city.people)
        let bad = try await city.post(510, by: ada)
        let kept = try await city.post(511, by: ada)
        for (person, way) in zip(people, ["up", "up", "down", "up"]) {
            #expect(try await vote(way, on: kept, by: person).status == 200)
        }
        #expect(try await vote("up", on: kept, by: ada).code == "OWN_POST")
        let guests = try await city.home.call("GET", "/api/posts/\(kept)", token: city.guest).data["post"]
        #expect(guests["up"].int == 3 && guests["down"].int == 1 && guests["my_vote"].isNull)
        let asGuest = try await city.home.call("POST", "/api/reports", token: city.guest, json: "{}")
        #expect(asGuest.code == "GUEST_NOT_ALLOWED", "\(asGuest.text)")

        #expect(try await report(bad, by: ada).code == "CANNOT_REPORT_SELF")
        #expect(try await report(bad, by: people[0]).status == 201)
        #expect(try await report(bad, by: people[0]).code == "ALREADY_REPORTED")
        let reader = people[0]
        try await eventually("it says so to its reporter") {
            try await reader.get("/api/posts/\(bad)").data["post"]["reported_by_me"].bool == true
        }
        #expect(try await people[1].get("/api/posts/\(bad)").data["post"]["reported_by_me"].bool == false)
        // A block does not prevent a report.
        #expect(try await people[1].post("/api/blocks", "{\"user_id\":\"\(ada.id)\"}").status == 201)
        #expect(ids(try await people[1].get(Self.area)).isEmpty)
        #expect(try await report(bad, by: people[1]).status == 201)
        #expect(ids(try await people[3].get(Self.area)).contains(bad), "two are not three")
        #expect(try await report(bad, by: people[2]).status == 201)
        // With the reply, not a moment later (D21).
        for reply in [try await people[3].get(Self.area), try await city.home.call("GET", Self.area, token: city.guest)] {
            #expect(ids(reply) == [kept], "\(reply.text)")
        }
        #expect(try await people[3].get("/api/posts/\(bad)").status == 404)
        #expect(try await vote("up", on: bad, by: people[3]).status == 404)
        #expect(try await report(bad, by: people[3]).status == 404)
        let own = try await ada.get("/api/posts/\(bad)")
        #expect(own.data["post"]["hidden"].bool == true, "\(own.text)")
        return (bad, kept)
    }

    /// The moderators show it again, and remove it when three more report it.
    private func evening(_ city: City, _ bad: String, _ kept: String) async throws {
        let (ada, people, moderator) = (city.ada, city.people, city.moderator)
        let reports = try await moderator.get("\(queue)?limit=100").data["reports"].list.filter { $0["subject_id"].string == bad }
        #expect(reports.count == 3 && Set(reports.compactMap { $0["reporters"].int }) == [1, 2, 3])
        #expect(reports.allSatisfy { $0["post"]["hidden"].bool == true && $0["source"].string == "user" })
        let first = try #require(reports.first?["report_id"].string)
        #expect(try await act("dismiss", on: first, by: moderator).data["status"].string == "dismissed")
        #expect(ids(try await people[3].get(Self.area)).contains(bad), "it is shown again, with the reply")
        #expect(try await moderator.get(queue).data["reports"].list.isEmpty, "all its reports are answered")
        for reporter in people.prefix(3) {
            try await eventually("the reporters are informed") { try await reporter.notifications("report_update").count == 1 }
        }
        try await eventually("and the author") { try await ada.notifications("report_update").count == 1 }

        var late: [Person] = [people[3]]
        for name in ["fay", "gus"] { late.append(try await Person.register(name, at: city.home)) }
        _ = try await city.home.sql("UPDATE auth.account SET email_verified_at = now()")
        for (index, reporter) in late.enumerated() {
            #expect(ids(try await people[2].get(Self.area)).contains(bad), "\(index) are not three")
            #expect(try await report(bad, by: reporter).status == 201)
        }
        #expect(ids(try await people[2].get(Self.area)) == [kept])
        let again = try await moderator.get(queue).data["reports"].list
        let removed = try await act("remove", on: try #require(again.first?["report_id"].string), by: moderator)
        #expect(removed.status == 200 && removed.data["action"]["action"].string == "remove", "\(removed.text)")
        #expect(try await ada.get("/api/posts/\(bad)").status == 404, "for its author too")
        let back = try await ada.pin(try Photos.jpeg(510), at: 48.8584, 2.2945, [("post_id", bad)])
        #expect(back.code == "POST_REMOVED", "\(back.text)")
        try await eventually("its pictures are gone") { city.home.blobs(of: ada).allSatisfy { !$0.contains(bad) } }
        try await eventually("its author is informed") { try await ada.notifications("moderation_warning").count == 1 }
    }

    /// The author deletes the account: her posts go, and her votes are subtracted (AU-7, PL-3).
    private func night(_ city: inout City, _ kept: String) async throws {
        let home = city.home
        var (ben, eve) = (city.people[0], city.people[3])
        let bens = try await city.post(520, by: ben)
        #expect(try await vote("up", on: bens, by: city.ada).data["up"].int == 1)
        #expect(try await vote("up", on: bens, by: eve).data["up"].int == 2)
        #expect(try await report(bens, by: city.ada).status == 201)
        let saved = try await city.ada.post("/api/places/cities", #"{"name":"Paris","latitude":48.85,"longitude":2.35}"#)
        #expect(saved.status == 200)
        let proof = "{\"password\":\"\(Person.password)\"}"
        let deleted = try await home.call("DELETE", "/api/auth/account", token: city.ada.token, json: proof)
        try #require(deleted.status == 200, "\(deleted.text)")
        let reader = eve
        try await eventually("her posts are not seen") { try await reader.get("/api/posts/\(kept)").status == 404 }
        #expect(ids(try await eve.get(Self.area)) == [bens])
        try await home.travel(days: 31)
        try await ben.signIn()
        try await eve.signIn()
        let (later, ada) = (ben, city.ada)
        try await eventually("her vote is subtracted", within: .seconds(120)) {
            try await later.get("/api/posts/\(bens)").data["post"]["up"].int == 1
        }
        try await eventually("everything of hers is gone", within: .seconds(120)) {
            for (table, column) in [
                ("media.place_post", "user_id"), ("media.place_vote", "user_id"), ("media.place_report", "user_id"),
                ("media.place_removed_post", "user_id"), ("media.place_city", "user_id"), ("social.report", "reporter"),
                ("social.report", "owner"), ("social.post_standing", "owner"),
            ] {
                let rows = try await home.sql("SELECT count(*) FROM \(table) WHERE \(column) = '\(ada.id)'")
                guard rows == "0" else { return false }
            }
            let votes = try await home.sql("SELECT count(*) FROM media.place_vote WHERE post_id = '\(kept)'")
            return votes == "0" && home.blobs(of: ada).isEmpty
        }
        #expect(try await eve.get("/api/posts/\(bens)").data["post"]["up"].int == 1)
    }
}
