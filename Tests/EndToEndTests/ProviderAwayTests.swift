import Foundation
import Kernel
import TestSupport
import Testing

/// The push service is away for an hour, in every way in which it can be, while people go on (NO-3, NO-6). It is away by the product's clock;
/// the back-off goes by the machine's, so each step ends it.
@Suite(.timeLimit(.minutes(5))) struct ProviderAwayTests {
    /// Two friends with a device each, and the strangers who ask ben to be friends meanwhile.
    private struct Evening {
        let home: Installation
        let expo: ExpoServer
        var pair: Pair
        /// The evening's date.
        var date: CalendarDate
        /// How many have asked ben.
        private(set) var asked = 0
        /// Of the friendship between the two, before there were devices.
        private var earlier: Set<String> = []
        private(set) var took: [Duration] = []

        /// On the day after the first snaps, on which neither has posted yet.
        init(expo: ExpoServer, admin: UInt16) async throws {
            home = try await Installation(
                ["--dev-clock", "--admin-port", "\(admin)"],
                environment: ["STREAKSNAP_NOTIFICATIONS_PUSH_URL": expo.url]
            )
            self.expo = expo
            pair = try await Pair.posted(at: home)
            date = Zone.utc.date(at: try await home.productTime()).advanced(by: 1)
            try await set("20:50")
            for (person, name) in [(pair.ann, "ann"), (pair.ben, "ben")] {
                let device = "{\"push_token\":\"ExponentPushToken[\(name)]\",\"platform\":\"ios\"}"
                let preferences = "{\"quiet_hours\":false}"
                for (path, json) in [("push-token", device), ("notification-preferences", preferences)] {
                    let reply = try await home.call("PUT", "/api/users/me/\(path)", token: person.token, json: json)
                    try #require(reply.status == 200, "\(reply.text)")
                }
            }
            earlier = Set(try await requests())
        }

        /// Ben's entries about requests since there are devices.
        private func requests() async throws -> [String] {
            try await pair.ben.notifications("friend_request").compactMap { $0["id"].string }.filter { !earlier.contains($0) }
        }

        /// Moves the clock to a time of the evening, and signs in again: tokens live for 15 minutes.
        mutating func set(_ time: String) async throws {
            try await home.travel(to: "\(date)T\(time):00Z")
            try await pair.signIn()
        }

        /// Strangers ask ben to be friends, and ben looks at the log: how long each takes is kept.
        mutating func ask(_ count: Int) async throws {
            for _ in 0..<count {
                let friend = try await Person.register("friend", at: home)
                let start = ContinuousClock.now
                let reply = try await friend.request(pair.ben)
                let middle = ContinuousClock.now
                #expect(reply.status == 201, "\(reply.text)")
                #expect(try await pair.ben.get("/api/notifications").status == 200)
                took += [middle - start, ContinuousClock.now - middle]
                asked += 1
            }
        }

        /// Ends the back-off.
        func hurry() async throws {
            _ = try await home.sql("UPDATE notifications.push_provider SET away_until = clock_timestamp()")
        }

        /// Waits until the push service has behaved like this for the first time, without a back-off.
        ///
        /// - Parameters:
        ///   - status: nil for any.
        ///   - isProbe: whether the request handed over nothing; nil for any.
        ///   - times: how often.
        func wasAsked(_ path: String, _ mode: String, status: Int? = nil, isProbe: Bool? = nil, times: Int = 1) async throws {
            try await eventually("\(path) met \(mode)") {
                try await hurry()
                return try expo.requests.filter {
                    $0.path == path && $0.mode == mode && (status == nil || $0.status == status)
                        && (isProbe == nil || ($0.count == 0) == isProbe)
                }.count >= times
            }
        }

        /// Waits until nothing that is due waits, while the push service answers.
        func isQuiet() async throws {
            try await eventually("every request is in the log") { try await requests().count >= asked }
            try await eventually("no push waits") {
                try await hurry()
                // Each time: what was handed over in vain is due from then on.
                let now = try await home.productTime()
                return try await home.sql(
                    "SELECT count(*) FROM notifications.delivery WHERE state = 0 AND due_at <= '\(now)'"
                ) == "0"
            }
        }

        /// Waits for the reminders of this many users.
        func atRisk(_ count: Int) async throws {
            try await eventually("\(count) reminders wait") {
                try await home.sql(
                    """
                    SELECT count(*) FROM notifications.delivery d JOIN notifications.notification n ON n.id = d.notification_id
                    WHERE n.kind = 11
                    """
                ) == "\(count)"
            }
        }

        /// Every request to ben is in the log once and was pushed once or twice; nothing was pushed a third time.
        func isWhole() async throws {
            let entries = try await requests()
            #expect(entries.count == asked && Set(entries).count == asked)
            let counts = Dictionary(grouping: try expo.pushes, by: \.data.notification_id).mapValues(\.count)
            for entry in entries { #expect((1...2).contains(counts[entry] ?? 0), "\(entry): \(counts[entry] ?? 0)") }
            #expect(counts.values.allSatisfy { $0 <= 2 }, "\(counts)")
        }
    }

    @Test func `an hour without the push service slows no request, loses nothing of use and repeats nothing twice`() async throws
    {
        let expo = try await ExpoServer.start()
        let admin = try #require(try Installation.freePorts(1).first)
        var evening = try await Evening(expo: expo, admin: admin)
        try await evening.ask(4)
        try await evening.isQuiet()
        try await evening.isWhole()
        let before = try #require(evening.took.max())
        try await refuses(&evening)
        try await falls(silent: &evening)
        try await losesAnswers(&evening)
        try await evening.set("21:55")
        try expo.behave("{}")
        try await evening.ask(1)
        try await evening.isQuiet()
        try await evening.isWhole()
        // Busy machines are slow at times; a request that waited for the push service would have taken its 10 seconds.
        #expect(try #require(evening.took.max()) < before + .seconds(5), "\(evening.took)")
        let reminders = try expo.pushes.filter { $0.data.type == "streak_at_risk" }
        #expect(Set(reminders.map(\.to)) == ["ExponentPushToken[ann]", "ExponentPushToken[ben]"], "useful until midnight")
        // What ann asked for at 20:55 was of use for ten minutes.
        #expect(try expo.pushes.filter { $0.data.type == "test" }.isEmpty)
        try await dropped("test", 1, admin)
        try await overMidnight(&evening, reminders: reminders.count, admin)
        await evening.home.guardian.end()
    }

    /// 20:55 to 21:05: it takes nothing, and says so.
    private func refuses(_ evening: inout Evening) async throws {
        let home = evening.home
        try evening.expo.behave(#"{"mode": "status", "status": 429, "retry_after": "40", "code": "TOO_MANY_REQUESTS"}"#)
        try await evening.set("20:55")
        #expect(try await evening.pair.ann.post("/api/notifications/test").data["devices"].int == 1)
        try await evening.ask(2)
        try await eventually("it is left alone as long as it asks for") {
            try await home.sql("SELECT away_until > clock_timestamp() + interval '30 s' FROM notifications.push_provider") == "t"
        }
        #expect(try evening.expo.requests.contains { $0.path == "/send" && $0.status == 429 })
        try evening.expo.behave(#"{"mode": "status", "status": 500}"#)
        try await evening.set("21:00")
        try await evening.ask(2)
        try await evening.wasAsked("/send", "status", status: 500, isProbe: true)
        // Reminders leave within a minute.
        try await evening.set("21:05")
        try await evening.atRisk(2)
        try evening.expo.behave(#"{"mode": "status", "status": 503, "paths": ["/send"]}"#)
        try await evening.wasAsked("/send", "status", status: 503)
    }

    /// 21:15: it does not answer, then cuts connections.
    private func falls(silent evening: inout Evening) async throws {
        let (home, expo) = (evening.home, evening.expo)
        try await evening.set("21:15")
        // What has waited leaves, so that what follows meets pushes and not only the requests that see whether it answers.
        try expo.behave("{}")
        try await evening.isQuiet()
        try expo.behave(#"{"mode": "hang", "seconds": 10, "paths": ["/send"]}"#)
        try await evening.ask(1)
        try await evening.wasAsked("/send", "hang", isProbe: false)
        // Whatever is handed over while that request hangs is cut.
        try expo.behave(#"{"mode": "cut"}"#)
        try await evening.ask(2)
        // Without the registrations of the friends, which take their time on a busy machine.
        let waited = evening.took.suffix(4).reduce(.zero, +)
        #expect(waited < .seconds(8), "requests that waited for the push service would have taken the rest of its 10 s")
        try await evening.wasAsked("/send", "cut", isProbe: false)
        try await eventually("the silence is noted", within: .seconds(40)) {
            try await home.sql(
                "SELECT count(*) FROM notifications.delivery WHERE state = 0 AND claimed_until > clock_timestamp()"
            ) == "0"
        }
        // However often it is silent, that costs a push one hand-over: the rest are probes.
        try await evening.wasAsked("/send", "cut", isProbe: true, times: 4)
        #expect(try expo.requests.filter { $0.mode == "cut" && $0.count != 0 }.count <= 2)
        #expect(
            try await home.sql("SELECT count(*) FROM notifications.delivery WHERE state = 3 AND reason = 'NoAnswer'") == "0"
        )
        try expo.behave("{}")
        try await evening.isQuiet()
        try await evening.isWhole()
    }

    /// 21:25 to 21:35: it takes pushes, and its answers are lost or cannot be read.
    private func losesAnswers(_ evening: inout Evening) async throws {
        try await evening.set("21:25")
        try evening.expo.behave(#"{"mode": "lose", "paths": ["/send"]}"#)
        try await evening.ask(2)
        try await evening.wasAsked("/send", "lose")
        try await evening.set("21:35")
        try evening.expo.behave(#"{"mode": "malformed", "paths": ["/send"]}"#)
        try await evening.ask(2)
        try await eventually("it has answered with half of a text") {
            return try evening.expo.requests.contains { $0.path == "/send" && $0.mode == "malformed" }
        }
    }

    /// On the next evening it is away until after midnight: reminders are of no use then, and are dropped and counted; the rest arrives.
    private func overMidnight(_ evening: inout Evening, reminders: Int, _ admin: UInt16) async throws {
        let home = evening.home
        try await evening.pair.bothPost()
        evening.date = evening.date.advanced(by: 1)
        try await evening.set("20:50")
        try await evening.isQuiet()
        try evening.expo.behave(#"{"mode": "status", "status": 503}"#)
        try await evening.ask(1)
        try await evening.set("21:01")
        try await evening.atRisk(4)
        evening.date = evening.date.advanced(by: 1)
        try await evening.set("00:05")
        try evening.expo.behave("{}")
        try await evening.isQuiet()
        #expect(try evening.expo.pushes.filter { $0.data.type == "streak_at_risk" }.count == reminders)
        let useless = """
            SELECT count(*) FROM notifications.delivery d JOIN notifications.notification n ON n.id = d.notification_id
            WHERE n.kind = 11 AND d.state = 4 AND d.reason = 'useless'
            """
        #expect(try await home.sql(useless) == "2")
        try await dropped("streak_at_risk", 2, admin)
        try await evening.isWhole()
    }

    /// Waits until the metric says so.
    private func dropped(_ kind: String, _ count: Int, _ admin: UInt16) async throws {
        let metrics = HTTPClient(port: admin)
        try await eventually("\(count) \(kind) are counted as useless") {
            try await metrics.send("GET", "/metrics").text.split(separator: "\n").contains { line in
                line.hasPrefix("streaksnap_pushes_dropped_total{") && line.contains("kind=\"\(kind)\"")
                    && line.contains("reason=\"useless\"") && line.hasSuffix(" \(count)")
            }
        }
    }
}
