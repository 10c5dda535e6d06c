import Foundation
import TestSupport
import Testing

/// The console of administrators, used in headless Chromium. Pictures of it are in `.run/artefacts`, to be looked at.
struct ConsoleTests {
    @Test
    func `an administrator finds a person, reads why a streak stands, suspends, decides, redrives, and all of it is in the log`()
        async throws
    {
        let home = try await Installation.shared.value
        let admin = try await Person.administrator(at: home)
        let (ida, kurt) = (try await Person.register("ida", at: home), try await Person.register("kurt", at: home))
        let streak = try await ida.befriend(kurt)
        for person in [ida, kurt] { try #require(try await person.upload(try Photos.jpeg(91), to: streak).status == 201) }
        let report =
            "{\"subject_type\":\"user\",\"subject_id\":\"\(ida.id)\",\"reason\":\"spam\",\"description\":\"Again and again.\"}"
        let filed = try await kurt.post("/api/reports", report)
        let reportID = try #require(filed.data["report_id"].string, "\(filed.text)")
        // In a feature that no replica runs, so that nothing tries it again by itself; behind a whole page of others.
        let event = UUID().uuidString.lowercased()
        _ = try await home.sql(
            """
            INSERT INTO social.event_retry (event_id, feature, aggregate, subject, trace, request_id, body, attempts, parked_at)
            SELECT gen_random_uuid(), 'console', 'console', 'evt.auth.v1.ProfileChanged', '', '', '', 10, clock_timestamp()
            FROM generate_series(1, 50);
            INSERT INTO social.event_retry (event_id, feature, aggregate, subject, trace, request_id, body, attempts, parked_at, last_error)
            VALUES ('\(event)', 'console', '\(event)', 'evt.auth.v1.ProfileChanged', '', '', '', 10, clock_timestamp(), 'why it failed')
            """
        )
        let text = try await PageScript.play(
            "admin.py",
            [
                "http://127.0.0.1:\(home.http.port)", admin.email, kurt.email, Person.password, ida.username, ida.id, streak,
                reportID, event,
            ],
            within: .seconds(300)
        )
        #expect(text.hasSuffix("administered\n"), "\(text)")
        _ = try await home.sql("DELETE FROM social.event_retry WHERE aggregate = 'console'")
        _ = try await home.sql("DELETE FROM social.event_retry WHERE event_id = '\(event)'")
        // What was done in other services has arrived too.
        try await eventually("every action is in the log") {
            let actions = try await admin.get("/api/admin/actions?user_id=\(ida.id)&admin_id=\(admin.id)&limit=100").data[
                "actions"
            ].list
            return Set(actions.compactMap { $0["kind"].string }).isSuperset(of: [
                "list_account", "read_account", "suspend_account", "lift_suspension", "sign_out_account", "decide_report",
                "list_streaks",
                "read_streak", "change_wallet", "export_account",
            ])
        }
        // Each account of a list is an entry of its own: in a large installation these two are not on the first page.
        let (redrive, outage) = (15, 16)
        try await eventually("what is about no person is too") {
            try await home.sql(
                """
                SELECT count(DISTINCT kind) FROM auth.admin_action
                WHERE admin_id = '\(admin.id)' AND subject_id IS NULL AND kind IN (\(redrive), \(outage))
                """
            ) == "2"
        }
    }

    @Test func `who is no administrator gets 403 from each route of the console`() async throws {
        let home = try await Installation.shared.value
        let person = try await Person.register("lena", at: home)
        let routes = APIOperation.all(in: try await home.call("GET", "/openapi.json").json).filter {
            $0.path.hasPrefix("/api/admin/")
        }
        #expect(routes.count >= 22, "\(routes)")
        for route in routes {
            let path = route.parameters.reduce(route.path) { $0.replacing("{\($1)}", with: person.id) }
            let reply = try await home.call(route.verb, path, token: person.token, json: route.body.isNull ? nil : "{}")
            #expect(reply.status == 403 && reply.code == "ADMIN_ONLY", "\(route): \(reply.text)")
        }
    }
}
