import Foundation
import TestSupport
import Testing

/// What administrators see and do about the services, over HTTP.
struct AdminOperationTests {
    /// Refuses rows of a table of notifications until it is taken away.
    private func refuse(_ condition: String, at home: Installation) async throws -> @Sendable () async throws -> Void {
        let name = "refuse_\(UUID().uuidString.prefix(8).lowercased())"
        _ = try await home.sql(
            """
            CREATE FUNCTION notifications.\(name)() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                RAISE EXCEPTION 'refused' USING ERRCODE = 'check_violation';
            END $$;
            CREATE TRIGGER \(name) BEFORE INSERT ON notifications.notification FOR EACH ROW WHEN (\(condition))
                EXECUTE FUNCTION notifications.\(name)();
            """
        )
        return { _ = try await home.sql("DROP FUNCTION notifications.\(name)() CASCADE") }
    }

    private func parked(_ admin: Person, about aggregate: String) async throws -> [JSON] {
        let reply = try await admin.get("/api/admin/parked-events?service=notifications")
        try #require(reply.status == 200, "\(reply.text)")
        return reply.data["events"].list.filter { $0["event"]["aggregate"].string == aggregate }
    }

    @Test func `an event whose handler fails is parked, shown without its body, and has its effect when it is redriven`()
        async throws
    {
        let home = try await Installation.shared.value
        let admin = try await Person.administrator(at: home)
        let (ann, ben) = (try await Person.register("ann", at: home), try await Person.register("ben", at: home))
        let accept = try await refuse("NEW.user_id = '\(ben.id)'", at: home)
        let asked = try await ann.request(ben)
        let friendship = try #require(asked.data["friendship_id"].string, "\(asked.text)")
        var found: [JSON] = []
        try await eventually("the event is parked", within: .seconds(60)) {
            // So that its tries follow each other at once; the first ones stand for those of a quarter of an hour.
            _ = try await home.sql(
                """
                UPDATE notifications.event_retry SET next_attempt_at = clock_timestamp(), attempts = greatest(attempts, 8)
                WHERE parked_at IS NULL AND aggregate = '\(friendship)'
                """
            )
            found = try await parked(admin, about: friendship)
            return !found.isEmpty
        }
        try #require(found.count == 1, "\(found)")
        let event = found[0]["event"]
        #expect(found[0]["service"].string == "notifications" && event["feature"].string == "log")
        #expect(event["subject"].string == "evt.social.v1.FriendRequestSent" && event["attempts"].int == 10)
        #expect(event["last_error"].string?.contains("23514") == true, "\(event)")
        #expect(
            event.names == ["event_id", "feature", "subject", "aggregate", "attempts", "parked_at", "last_error", "position"]
        )
        try await eventually("all services say what waits, and this one that an event is parked") {
            let backlog = try await admin.get("/api/admin/backlogs").data["services"].list
            let features = backlog.first { $0["service"].string == "notifications" }?["features"].list ?? []
            let parked = features.first { $0["feature"].string == "log" }?["parked"].int ?? 0
            return parked >= 1 && backlog.count >= 6 && backlog.allSatisfy { $0["answers"].bool == true }
        }

        try await accept()
        let id = try #require(event["event_id"].string)
        let body = "{\"service\":\"notifications\",\"event_id\":\"\(id)\"}"
        let redriven = try await admin.post("/api/admin/parked-events/redrive", body)
        #expect(redriven.data["redriven"].int == 1, "\(redriven.text)")
        #expect(
            try await admin.post("/api/admin/parked-events/redrive", body).data["redriven"].int == 0,
            "it was redriven already"
        )
        try await eventually("it has its effect") { try await ben.notifications("friend_request").count == 1 }
        #expect(try await parked(admin, about: friendship).isEmpty)
        let actions = try await admin.get("/api/admin/actions?admin_id=\(admin.id)").data["actions"].list
        let noted = actions.filter { $0["kind"].string == "redrive_events" }
        #expect(noted.map { $0["detail"].string } == Array(repeating: "notifications: the event \(id)", count: 2), "\(actions)")
        #expect(noted.allSatisfy { $0["user_id"].string == nil })
    }

    @Test func `what is no service is refused by the name of the field`() async throws {
        let home = try await Installation.shared.value
        let admin = try await Person.administrator(at: home)
        for service in ["nothing", "streaks.v1", "*"] {
            let reply = try await admin.post("/api/admin/parked-events/redrive", "{\"service\":\"\(service)\"}")
            #expect(reply.status == 400 && reply.fields == ["service"], "\(reply.text)")
        }
        let missing = try await admin.post("/api/admin/parked-events/redrive", "{}")
        #expect(missing.status == 400 && missing.fields == ["service"], "\(missing.text)")
    }

    @Test func `an administrator is given what a user can ask for, and it is in the audit log`() async throws {
        let home = try await Installation.shared.value
        let admin = try await Person.administrator(at: home)
        let eve = try await Person.register("eve", at: home)
        let reply = try await admin.get("/api/admin/accounts/\(eve.id)/export")
        try #require(reply.status == 200, "\(reply.text)")
        let text = try #require(reply.data["document"].string)
        let document = try JSON(Array(text.utf8))
        let own = try await eve.export().json
        #expect(document.names == own.names && document["user_id"].string == eve.id)
        #expect(text.contains(eve.email) && document["auth"].names == own["auth"].names)
        // Other administrators may have seen her in a list meanwhile.
        let actions = try await admin.get("/api/admin/actions?user_id=\(eve.id)").data["actions"].list
        let exports = actions.filter { $0["kind"].string == "export_account" }
        #expect(exports.map { $0["detail"].string } == ["was given the document"])
        let none = try await admin.get("/api/admin/accounts/00000000-0000-7000-8000-000000000000/export")
        #expect(none.status == 404 && none.code == "NOT_FOUND", "\(none.text)")
    }
}

extension RestartTests {
    @Test func `a service that hangs is shown as away, beside the others`() async throws {
        let home = try await Installation.separate.value
        // Another test may have killed a service a moment ago.
        var person = try await register("chief", at: home)
        _ = try await home.sql("UPDATE auth.account SET is_admin = true WHERE id = '\(person.id)'")
        try await person.signIn()
        let admin = person
        try await eventually("all services answer") {
            try await admin.get("/api/admin/backlogs").data["services"].list.allSatisfy { $0["answers"].bool == true }
        }
        let frozen = try #require(home.process(of: "billing"), "billing does not run")
        #expect(kill(frozen, SIGSTOP) == 0)
        defer { kill(frozen, SIGCONT) }
        // On a busy machine another may be late too, once.
        try await eventually("it alone does not say what waits") {
            let backlogs = try await admin.get("/api/admin/backlogs").data["services"].list
            return backlogs.count == 6
                && backlogs.filter { $0["answers"].bool != true }.map { $0["service"].string } == ["billing"]
        }
        try await eventually("it alone has no replica") {
            let replicas = try await admin.get("/api/admin/replicas").data["services"].list
            return replicas.count == 6
                && replicas.filter { $0["replicas"].list.isEmpty }.map { $0["service"].string } == ["billing"]
        }
        try await eventually("it alone does not say what is parked") {
            let events = try await admin.get("/api/admin/parked-events")
            return events.status == 200 && events.data["unanswered"].list.map { $0.string } == ["billing"]
        }
        let redrive = try await admin.post("/api/admin/parked-events/redrive", "{\"service\":\"billing\"}")
        #expect(redrive.status == 503 && redrive.code == "SERVICE_AWAY" && redrive.fields == ["service"], "\(redrive.text)")
        kill(frozen, SIGCONT)
        try await eventually("it is back") {
            try await admin.get("/api/admin/backlogs").data["services"].list.allSatisfy { $0["answers"].bool == true }
        }
    }
}
