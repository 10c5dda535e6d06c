import Foundation
import Kernel
import TestSupport
import Testing

/// A friend's photo shows to who has posted for its date, or when that date is over for the streak (PH-4), over HTTP and on every route.
@Suite(.serialized) struct RevealTests {
    private static let travelling = Task { try await Installation(["--dev-clock"]) }

    private func feed(_ oracle: RevealOracle, _ index: Int) async throws -> JSON {
        let reply = try await oracle.people[index].get("/api/photos/feed")
        return try #require(reply.data["items"].list.first, "\(reply.text)")
    }

    private func detail(_ oracle: RevealOracle, _ index: Int) async throws -> JSON {
        try await oracle.people[index].get("/api/streaks/\(oracle.streaks[0])").data
    }

    private func expectNothingWrong(_ oracle: inout RevealOracle) async throws {
        let problems = try await oracle.look()
        #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
    }

    @Test func `who posted yesterday and goes to Pago Pago does not see the friend's photo of today before posting for it`()
        async throws
    {
        var oracle = try await RevealOracle(try await Self.travelling.value, zones: ["Europe/Berlin", "Europe/Berlin"])
        try await oracle.go(to: 12, of: 0)
        let yesterday = try #require(try await oracle.post(0))
        try await oracle.go(to: 9, of: 0)
        #expect(try await oracle.post(1) == yesterday.advanced(by: 1))
        for zone in ["Pacific/Pago_Pago", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Europe/Berlin"] {
            try await oracle.travel(0, to: zone)
            try await expectNothingWrong(&oracle)
            for shown in [try await feed(oracle, 0), try await detail(oracle, 0)] {
                #expect(shown["locked"].bool == true && shown["friend_snap"].isNull, "in \(zone): \(shown)")
            }
        }
        #expect(try await oracle.post(0) == yesterday.advanced(by: 1))
        for shown in [try await feed(oracle, 0), try await detail(oracle, 0)] {
            #expect(shown["locked"].bool == false && shown["friend_snap"]["user_id"].string == oracle.people[1].id, "\(shown)")
        }
        try await expectNothingWrong(&oracle)
    }

    @Test func `friends far apart who see each other's photo before midnight see it after midnight too`() async throws {
        var oracle = try await RevealOracle(try await Self.travelling.value, zones: ["Europe/Berlin", "America/Los_Angeles"])
        try await oracle.go(to: 23, 0, of: 0)
        let date = try #require(try await oracle.post(0))
        #expect(try await oracle.post(1) == date, "14:00 of the same date")
        for step in ["23:30", "00:01", "07:00"] {
            try await oracle.go(to: try #require(Int(step.prefix(2))), try #require(Int(step.suffix(2))), of: 0)
            for reader in [0, 1] {
                for shown in [try await feed(oracle, reader), try await detail(oracle, reader)] {
                    #expect(shown["locked"].bool == false, "\(reader) at \(step): \(shown)")
                    #expect(shown["friend_snap"]["user_id"].string == oracle.people[1 - reader].id, "\(reader) at \(step)")
                }
            }
            try await expectNothingWrong(&oracle)
        }
        // A new date for the one: what she posts for it waits until he has posted for it, and his own photo stays with her.
        let turn = try await feed(oracle, 0)
        #expect(turn["your_turn"].bool == true && turn["waiting_on_friend"].bool == false)
        #expect(try await oracle.post(0) == date.advanced(by: 1))
        try await expectNothingWrong(&oracle)
        #expect(try await feed(oracle, 1)["friend_snap"]["user_id"].string == oracle.people[0].id, "that of their date")
    }

    @Test func `the end of a friendship reveals nothing of a date that was not over, on no later day`() async throws {
        var oracle = try await RevealOracle(try await Self.travelling.value, zones: ["Europe/Berlin", "Europe/Berlin"])
        try await oracle.go(to: 12, of: 0)
        _ = try await oracle.post(0)
        try await oracle.part()
        let (ben, streak) = (oracle.people[1], oracle.streaks[0])
        try await eventually("the streak has ended") {
            try await ben.get("/api/streaks/\(streak)").data["streak"]["status"].string == "ended"
        }
        try await expectNothingWrong(&oracle)
        try await oracle.go(to: 12, of: 0)
        try await expectNothingWrong(&oracle)
        let late = oracle.people[1]
        let day = try await late.get("/api/photos/history/\(streak)").data["days"][0]
        #expect(day["locked"].bool == true && day["friend_snap"].isNull, "\(day)")
        // A block and its end change nothing.
        let block = try await late.post("/api/blocks", "{\"user_id\":\"\(oracle.people[0].id)\"}")
        let id = try #require(block.data["block_id"].string, "\(block.text)")
        #expect(try await oracle.home.call("DELETE", "/api/blocks/\(id)", token: late.token).status == 200)
        let home = oracle.home
        try await eventually("media has both") {
            try await home.sql("SELECT count(*) FROM media.block_replica WHERE active AND blocker = '\(late.id)'") == "0"
        }
        try await expectNothingWrong(&oracle)
    }

    @Test(arguments: TestDepth.seeds(quick: 1, full: 6))
    func `no sequence of zones, posts and hours shows a photo too early, or not any more`(
        seed: UInt64
    ) async throws {
        var random = Seeded(seed + 1)
        let zones = [
            "Europe/Berlin", "Pacific/Pago_Pago", "Pacific/Kiritimati", "America/New_York", "Pacific/Auckland", "Asia/Kolkata",
        ]
        var oracle = try await RevealOracle(
            try await Self.travelling.value,
            zones: [random.pick(zones), random.pick(zones)]
        )
        for _ in 0..<TestDepth.pick(quick: 15, full: 20) {
            let index = random.pick([0, 1])
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4: try await oracle.post(index)
            case 4..<7: try await oracle.travel(index, to: random.pick(zones))
            case 7: try await oracle.go(to: 0, 1, of: index)
            default: try await oracle.pass(random.pick([1_800, 3_600, 7_200, 14_400]))
            }
            if random.chance(20) { try await oracle.startAnew() }
            let problems = try await oracle.look()
            try #require(problems.isEmpty, "seed \(seed): \(problems.joined(separator: "\n"))")
        }
    }
}
