import AuthAPI
import Testing

/// Registrations and changes of the profile that are wrong in several places (PF-2).
@Suite(.timeLimit(.minutes(5))) struct FormTests {
    @Test(arguments: [
        // Of a wrong type, against a rule, missing; what the form alone says.
        ("\"email\":7,\"username\":\"Ann\"", ["email", "password", "username"]),
        ("\"email\":\"a@b.example\",\"password\":[],\"locale\":\"!\",\"shoes\":43", ["locale", "password", "shoes"]),
        (
            "\"email\":\"x\",\"password\":\"short\",\"display_name\":\" \",\"timezone_offset\":\"an hour\"",
            ["display_name", "email", "password", "timezone_offset"]
        ),
        (
            "\"email\":\"a@b.example\",\"password\":\"long enough\",\"username\":\"admin\",\"display_name\":\"\\u202e\""
                + ",\"time_zone\":\"Mars/Base\",\"locale\":\"!\"",
            ["display_name", "locale", "time_zone", "username"]
        ),
    ]) func `a registration is answered with every field that is wrong`(sent: String, fields: [String]) async throws {
        let world = try await World.shared.value
        let reply = try await world.call("POST", "/api/auth/register", "{\(sent)}")
        #expect(reply.status == 400 && reply.code == "VALIDATION_ERROR" && reply.fields == fields, "\(reply.text)")
    }

    @Test func `a change of the profile is answered with every field that is wrong, and changes nothing`() async throws {
        let world = try await World.shared.value
        let person = try await world.register("wim")
        let all = "\"username\":\"admin\",\"display_name\":\" \",\"time_zone\":\"Mars/Base\",\"locale\":\"!\""
        for (sent, fields) in [
            (all, ["display_name", "locale", "time_zone"]),
            // Who has a reserved name may keep it: that is looked at when the fields themselves are right.
            ("\"username\":\"admin\"", ["username"]),
            ("\"username\":\"No Way\",\"locale\":\"!\"", ["locale", "username"]),
            (
                "\"window_start_hour\":\"ten\",\"display_name\":\"\",\"locale\":\"!\"",
                ["display_name", "locale", "window_start_hour"]
            ),
        ] {
            let reply = try await world.call("PUT", "/api/users/me", "{\(sent)}", token: person.accessToken)
            #expect(reply.status == 400 && reply.code == "VALIDATION_ERROR" && reply.fields == fields, "\(reply.text)")
        }
        let me = try await world.call("GET", "/api/users/me", token: person.accessToken)
        #expect(me.string("username") == person.user?.username && me.string("display_name") == person.user?.displayName)
    }
}
