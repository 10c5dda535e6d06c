import Foundation
import Testing

/// Whom a snap counts with, and how many streaks a plan allows (MS-1, PH-1, SO-2).
struct StreakRuleTests {
    @Test func `a fourth friendship on the free plan has no streak`() async throws {
        let home = try await Installation.shared.value
        let ann = try await Person.register("ann", at: home)
        for index in 1...3 {
            let friend = try await Person.register("friend\(index)", at: home)
            try await ann.befriend(friend)
        }
        let fourth = try await Person.register("friend4", at: home)
        let asked = try await ann.request(fourth)
        let friendship = try #require(asked.data["friendship_id"].string)
        let accepted = try await fourth.respond(friendship)
        #expect(accepted.status == 200)
        #expect(accepted.data["status"].string == "accepted")
        #expect(accepted.data["streak"].isNull)
        #expect(accepted.data.names.contains("streak"))
        #expect(accepted.data["streak_reason"].string == "STREAK_LIMIT_REACHED")
        #expect(try await ann.get("/api/streaks").data["streaks"].list.count == 3)
        #expect(try await ann.get("/api/friends").data["friends"].list.count == 4)
    }

    @Test func `one photo counts for all streaks, for those that are listed, and once for each`() async throws {
        let home = try await Installation.shared.value
        let ann = try await Person.register("ann", at: home)
        var streaks: [String] = []
        for name in ["ben", "cat", "dan"] { streaks.append(try await ann.befriend(try await Person.register(name, at: home))) }

        let two = try await ann.upload(try Photos.jpeg(21), to: streaks[0] + ", " + streaks[1])
        #expect(two.status == 201, "\(two.text)")
        #expect(Set(two.data["streaks"].list.compactMap { $0["streak_id"].string }) == Set(streaks.prefix(2)))
        #expect(two.data["streaks"].list.allSatisfy { $0["accepted"].bool == true })

        let all = try await ann.upload(try Photos.jpeg(22), to: "all")
        #expect(all.status == 201, "\(all.text)")
        let taken = all.data["streaks"].list.filter { $0["accepted"].bool == true }
        #expect(taken.compactMap { $0["streak_id"].string } == [streaks[2]])
        let refused = all.data["streaks"].list.filter { $0["accepted"].bool == false }
        #expect(refused.allSatisfy { $0["reason"].string == "ALREADY_POSTED" })

        let again = try await ann.upload(try Photos.jpeg(23), to: streaks[0])
        #expect(again.status == 409)
        #expect(again.code == "ALREADY_POSTED")
    }

    @Test func `another user's streak does not exist`() async throws {
        let home = try await Installation.shared.value
        let (ann, ben) = (try await Person.register("ann", at: home), try await Person.register("ben", at: home))
        let stranger = try await Person.register("eve", at: home)
        let streak = try await ann.befriend(ben)
        try await stranger.befriend(try await Person.register("fay", at: home))
        let unknown = "01900000-0000-7000-8000-000000000000"
        for id in [streak, unknown] {
            let detail = try await stranger.get("/api/streaks/\(id)")
            #expect(detail.status == 404)
            #expect(detail.code == "NOT_FOUND")
            let upload = try await stranger.upload(try Photos.jpeg(24), to: id)
            #expect(upload.status == 404, "\(upload.text)")
            #expect(upload.code == "NOT_FOUND")
        }
        #expect(try await stranger.upload(try Photos.jpeg(24), to: "yes").fields == ["streak_ids[0]"])
        #expect(try await ann.respond(unknown).status == 404)
    }

    @Test func `a photo without a streak to post to is refused`() async throws {
        let ann = try await Person.register("ann", at: try await Installation.shared.value)
        let reply = try await ann.upload(try Photos.jpeg(25))
        #expect(reply.status == 400)
        #expect(reply.code == "NO_ACTIVE_STREAKS")
    }
}
