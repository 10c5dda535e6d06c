import Foundation
import TestSupport
import Testing

/// A crash of `notifications` between any two steps of a push: it is in the log once, and is sent once or twice (NO-3, NO-4).
@Suite(.timeLimit(.minutes(20))) struct PushCrashTests {
    /// Where the push is held up, and the process killed.
    enum Stage: String, CaseIterable {
        /// The entry of the log is being written.
        case writing
        /// Its pushes are being queued, in the same transaction.
        case queueing
        /// The hand-over is being noted, before the push service is asked.
        case claiming
        /// The push service is asked and has taken nothing.
        case asking
        /// The push service has taken the push and its answer is on its way.
        case taken
        /// The answer is being stored.
        case noting
        /// The receipt is being fetched.
        case fetching
        /// What the receipt says is being stored.
        case receiving
        /// Open apps were sent the event, which is being noted.
        case publishing

        /// The change of a table that is held up; nil: the push service holds it up.
        var hold: (table: String, event: String, condition: String)? {
            switch self {
            case .writing: ("notifications.notification", "INSERT", "true")
            case .queueing: ("notifications.delivery", "INSERT", "true")
            case .claiming: ("notifications.delivery", "UPDATE OF unanswered", "NEW.unanswered > OLD.unanswered")
            case .noting: ("notifications.delivery", "UPDATE OF state", "NEW.state = 1 AND OLD.state = 0")
            case .receiving: ("notifications.delivery", "UPDATE OF state", "NEW.state = 2")
            case .publishing: ("notifications.live_event", "UPDATE OF is_published", "NEW.is_published")
            case .asking, .taken, .fetching: nil
            }
        }
        /// How the push service behaves meanwhile, and what is asked of it.
        var behaviour: (json: String, path: String, mode: String)? {
            switch self {
            case .asking: (#"{"mode": "hang", "seconds": 60, "paths": ["/send"]}"#, "/send", "hang")
            case .taken: (#"{"mode": "lose", "seconds": 60, "paths": ["/send"]}"#, "/send", "lose")
            case .fetching: (#"{"mode": "hang", "seconds": 60, "paths": ["/getReceipts"]}"#, "/getReceipts", "hang")
            default: nil
            }
        }
        /// Whether it is about the receipt of a push that was sent.
        var isAboutReceipt: Bool { self == .fetching || self == .receiving }
    }

    /// On processes of its own: they are killed.
    @Test func `a push whose process is killed at any step is in the log once, and sent once or twice`() async throws {
        let expo = try await ExpoServer.start()
        let home = try await Installation(["--separate"], environment: ["STREAKSNAP_NOTIFICATIONS_PUSH_URL": expo.url])
        let ben = try await Person.register("ben", at: home)
        let device = #"{"push_token":"ExponentPushToken[ben]","platform":"ios"}"#
        let registered = try await home.call("PUT", "/api/users/me/push-token", token: ben.token, json: device)
        try #require(registered.status == 200, "\(registered.text)")
        // In quiet hours it would wait.
        let preferences = "{\"quiet_hours\":false}"
        let changed = try await home.call(
            "PUT",
            "/api/users/me/notification-preferences",
            token: ben.token,
            json: preferences
        )
        try #require(changed.status == 200, "\(changed.text)")
        let rounds = TestDepth.pick(quick: 1, full: 11)
        for _ in 0..<rounds { for stage in Stage.allCases { try await crash(stage, ben, expo, home) } }

        let sent = Dictionary(grouping: try expo.pushes, by: \.data.notification_id).mapValues(\.count)
        #expect(sent.count == rounds * Stage.allCases.count && sent.values.allSatisfy { $0 <= 2 }, "\(sent)")
        let repeated = sent.values.count { $0 == 2 }
        #expect(repeated >= rounds, "a push whose answer is lost is sent again")
        try await eventually("open apps were sent everything") {
            try await home.sql("SELECT count(*) FROM notifications.live_event WHERE NOT is_published") == "0"
        }
        await home.guardian.end()
    }

    private func crash(_ stage: Stage, _ ben: Person, _ expo: ExpoServer, _ home: Installation) async throws {
        let friend = try await Person.register("friend", at: home)
        let requests = try expo.requests.count
        if stage.isAboutReceipt {
            try await ask(friend, ben, home)
            try await isSent(friend, home)
        }
        let hold = try await stage.hold.asyncMap { hold in
            try await RecoverTests.Hold(hold.table, hold.event, when: hold.condition, at: home)
        }
        if let behaviour = stage.behaviour { try expo.behave(behaviour.json) }
        if stage.isAboutReceipt {
            // As a quarter of an hour later.
            _ = try await home.sql("UPDATE notifications.delivery SET due_at = now() WHERE state = 1 AND due_at IS NOT NULL")
        } else {
            try await ask(friend, ben, home)
        }
        try await hold?.heldUp()
        if let behaviour = stage.behaviour {
            try await eventually("the push service is asked: \(stage)") {
                try expo.requests.dropFirst(requests).contains { $0.path == behaviour.path && $0.mode == behaviour.mode }
            }
        }
        let pid = try #require(home.process(of: "notifications"))
        #expect(kill(pid, SIGKILL) == 0)
        // What the killed process has claimed; claims of the next one are left alone.
        let claimed = try await home.sql("SELECT coalesce(max(claimed_until), '-infinity') FROM notifications.delivery")
        try expo.behave("{}")
        try await hold?.end(isDead: true)
        try await eventually("notifications is started again") {
            guard let next = home.process(of: "notifications") else { return false }
            return next != pid
        }
        // As a minute later.
        _ = try await home.sql(
            """
            UPDATE notifications.delivery SET claimed_until = NULL WHERE claimed_until <= '\(claimed)';
            UPDATE notifications.push_slot SET held_until = clock_timestamp() WHERE held_until > clock_timestamp();
            """
        )
        try await isSent(friend, home, receipt: stage.isAboutReceipt)
        let id = try await home.sql("SELECT id FROM notifications.notification WHERE actor_id = '\(friend.id)'")
        #expect(!id.contains("\n"), "\(stage): in the log once")
        let count = try expo.pushes.count { $0.data.notification_id == id }
        #expect((1...2).contains(count), "\(stage): sent \(count) times")
        if stage == .taken || stage == .noting { #expect(count == 2, "\(stage): the process was killed after it was sent") }
        if stage == .asking || stage == .claiming { #expect(count == 1, "\(stage): the push service had not got it") }
    }

    private func ask(_ friend: Person, _ ben: Person, _ home: Installation) async throws {
        let reply = try await RestartTests().insist("the request") { try await friend.request(ben, key: friend.id) }
        #expect(reply.status == 201)
    }

    /// Waits until the push about a friend is sent, or its receipt is there.
    private func isSent(_ friend: Person, _ home: Installation, receipt: Bool = false) async throws {
        try await eventually("the push is \(receipt ? "received" : "sent")", within: .seconds(120)) {
            if receipt {
                // A receipt that was not there is asked for later.
                _ = try await home.sql("UPDATE notifications.delivery SET due_at = now() WHERE state = 1 AND due_at > now()")
            }
            return try await home.sql(
                """
                SELECT d.state FROM notifications.delivery d JOIN notifications.notification n ON n.id = d.notification_id
                WHERE n.actor_id = '\(friend.id)'
                """
            ) == (receipt ? "2" : "1")
        }
    }
}

extension Optional where Wrapped: Sendable {
    fileprivate func asyncMap<Result>(_ transform: (Wrapped) async throws -> Result) async throws -> Result? {
        guard let self else { return nil }
        return try await transform(self)
    }
}
