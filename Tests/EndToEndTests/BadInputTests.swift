import Foundation
import Images
import Testing

/// Requests that are wrong: each gets a clear error and leaves nothing behind.
struct BadInputTests {
    /// One wrong request.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var method = "POST"
        var path = "/api/auth/register"
        var body: [UInt8]?
        var headers: [(String, String)] = []
        var status = 400
        var code = "VALIDATION_ERROR"
        /// Fields that must be named; nil when none need be.
        var fields: Set<String>?
        /// Header that must come back.
        var allow: String?
        /// What the error must say.
        var says = ""
        /// Whether a signed-in user sends it.
        var isSignedIn = false

        init(_ name: String, _ text: String? = nil, _ change: (inout Case) -> Void = { _ in }) {
            testDescription = name
            body = text.map { Array($0.utf8) }
            change(&self)
        }
    }

    /// E-mails that no account may have afterwards.
    static let domain = "refused.example"

    private static func register(_ more: String) -> String {
        "{\"email\":\"a@\(domain)\",\"password\":\"long enough\"\(more.isEmpty ? "" : ",")\(more)}"
    }

    static let bodies: [Case] = [
        Case("a number for a text", "{\"email\":7,\"password\":\"long enough\"}") { $0.fields = ["email"] },
        Case("a text for a number", register("\"timezone_offset\":\"an hour\"")) { $0.fields = ["timezone_offset"] },
        Case("an object for a text", register("\"username\":{}")) { $0.fields = ["username"] },
        Case(
            "values of a wrong type beside others that break rules, all at once",
            "{\"email\":7,\"password\":\"short\",\"username\":\"Ann\",\"timezone_offset\":\"an hour\",\"locale\":\"!\"}"
        ) { $0.fields = ["email", "password", "username", "timezone_offset", "locale"] },
        Case("a value of a wrong type beside a missing one", "{\"email\":{}}") { $0.fields = ["email", "password"] },
        Case("a member without a name beside others", "{\"\":5,\"email\":7}") { $0.fields = ["", "email", "password"] },
        Case("a list for a message", "[]"),
        Case("a fraction for a whole number", register("\"timezone_offset\":1.5")) { $0.fields = ["timezone_offset"] },
        Case("missing fields, all at once", "{}") { $0.fields = ["email", "password"] },
        Case("no body") { $0.fields = ["email", "password"] },
        Case("several unknown fields, named", register("\"shoe_size\":43,\"role\":\"admin\"")) {
            $0.fields = ["shoe_size", "role"]
        },
        Case("a field that is spelled in another way", register("\"displayName\":\"Ann\"")) {
            ($0.fields, $0.says) = (["displayName"], "did you mean display_name?")
        },
        Case("an unknown query parameter", register("")) {
            $0.path += "?debug=1"
            $0.fields = ["debug"]
        },
        Case("no e-mail address", "{\"email\":\"no address\",\"password\":\"long enough\"}") { $0.fields = ["email"] },
        Case("a password too short", "{\"email\":\"a@\(domain)\",\"password\":\"short\"}") { $0.fields = ["password"] },
        Case("a password of 73 bytes", "{\"email\":\"a@\(domain)\",\"password\":\"\(String(repeating: "x", count: 73))\"}") {
            $0.fields = ["password"]
        },
        Case("a user name with capitals", register("\"username\":\"Ann\"")) { $0.fields = ["username"] },
        Case("a time zone that does not exist", register("\"time_zone\":\"Mars/Olympus\"")) { $0.fields = ["time_zone"] },
        Case("NUL in a text", register("\"display_name\":\"a\\u0000b\"")) { $0.fields = ["display_name"] },
        Case("half a surrogate pair", register("\"display_name\":\"a\\ud83db\"")) { $0.fields = ["display_name"] },
        Case("the same field twice", register("\"email\":\"b@\(domain)\"")),
        Case("text that is no JSON", "email=a@\(domain)"),
        Case("JSON that does not end", "{\"email\":\"a@\(domain)\""),
        Case("two documents", register("") + register("")),
        Case("bad UTF-8") {
            $0.body =
                Array("{\"email\":\"a@\(domain)\",\"password\":\"".utf8) + [0xC3, 0x28, 0xFF] + Array("long enough\"}".utf8)
        },
        Case("almost 1 MB of nested lists", String(repeating: "[", count: 1_000_000)),
        Case("almost 1 MB of nested objects", String(repeating: "{\"email\":", count: 110_000)),
        Case("a body over the limit", register("\"display_name\":\"\(String(repeating: "x", count: 1 << 20))\"")) {
            $0.status = 413
            $0.code = "BODY_TOO_LARGE"
        },
        Case("a form where JSON belongs") {
            $0.body = Form(fields: [("email", "a@\(domain)")]).body
            $0.headers = [Form.contentType]
            ($0.status, $0.code) = (415, "UNSUPPORTED_MEDIA_TYPE")
        },
    ]

    static let routes: [Case] = [
        Case("a route that does not exist") {
            ($0.method, $0.path, $0.status, $0.code, $0.says) = ("GET", "/api/nothing", 404, "NOT_FOUND", "/docs")
        },
        Case("a route of the bus only") {
            ($0.method, $0.path, $0.status, $0.code) = ("POST", "/rpc.auth.v1.GetSummaries", 404, "NOT_FOUND")
        },
        Case("the wrong verb") {
            ($0.method, $0.path, $0.status, $0.code, $0.allow) = (
                "DELETE", "/api/users/me", 405, "METHOD_NOT_ALLOWED", "GET, HEAD, PUT"
            )
        },
        Case("the wrong verb for registering") {
            ($0.method, $0.status, $0.code, $0.allow) = ("GET", 405, "METHOD_NOT_ALLOWED", "POST")
        },
        Case("the wrong verb for a path that is also the form of another") {
            ($0.method, $0.path, $0.status, $0.code, $0.allow, $0.isSignedIn) = (
                "DELETE", "/api/friends/search", 405, "METHOD_NOT_ALLOWED", "GET, HEAD", true
            )
        },
        Case("the wrong verb for the gateway's own") {
            ($0.path, $0.status, $0.code, $0.allow) = ("/api/health", 405, "METHOD_NOT_ALLOWED", "GET, HEAD")
        },
        Case("a broken percent escape") { ($0.method, $0.path, $0.code) = ("GET", "/api/streaks/%zz", "MALFORMED_PATH") },
        Case("bad UTF-8 in a path") {
            ($0.method, $0.path, $0.isSignedIn) = ("GET", "/api/streaks/%C3%28", true)
        },
        Case("an id that is none") {
            ($0.method, $0.path, $0.isSignedIn, $0.fields) = ("GET", "/api/streaks/42", true, ["streak_id"])
        },
        Case("a slip in a word where an id may stand") {
            ($0.method, $0.path, $0.isSignedIn, $0.fields) = ("GET", "/api/habits/toady", true, ["habit_id"])
            $0.says = "Did you mean GET /api/habits/today?"
        },
        Case("a slip in a word where only another verb takes an id") {
            ($0.path, $0.status, $0.code, $0.allow) = ("/api/friends/reqeust", 405, "METHOD_NOT_ALLOWED", "DELETE")
            $0.says = "Did you mean POST /api/friends/request?"
        },
        Case("JSON for a file that must be there", "{}") {
            ($0.path, $0.isSignedIn, $0.says) = ("/api/habits/restore", true, "multipart/form-data")
            ($0.status, $0.code) = (415, "UNSUPPORTED_MEDIA_TYPE")
        },
        Case("a page size beyond its bounds") {
            ($0.method, $0.path, $0.isSignedIn, $0.fields) = ("GET", "/api/notifications?limit=-1", true, ["limit"])
        },
        Case("a cursor that is none beside a wrong size") {
            ($0.method, $0.path, $0.isSignedIn) = ("GET", "/api/notifications?limit=-1&cursor=x", true)
            $0.fields = ["limit", "cursor"]
        },
        Case("dates and ids that are none: no rule between the dates counts") {
            ($0.method, $0.path, $0.isSignedIn) = ("GET", "/api/habits/export?from=x&to=2026-01-02&habit_id=42", true)
            $0.fields = ["from", "habit_id"]
        },
        Case(
            "an id that is none beside fields that a form judges",
            "{\"id\":\"42\",\"name\":\" \",\"color\":\"red\",\"schedule\":{\"type\":\"weekdays\"}}"
        ) {
            ($0.path, $0.isSignedIn, $0.fields) = ("/api/habits", true, ["id", "name", "color", "schedule.weekdays"])
        },
        Case("a value that an enum does not have", "{\"action\":\"perhaps\"}") {
            ($0.method, $0.isSignedIn, $0.fields) = ("PUT", true, ["action"])
            $0.path = "/api/friends/01900000-0000-7000-8000-000000000000/respond"
        },
        Case("a flag that is none, in place of a list", "{\"all\":\"yes\"}") {
            ($0.method, $0.path, $0.isSignedIn, $0.fields) = ("PUT", "/api/notifications/read", true, ["all"])
        },
        Case("two of a oneof", "{\"user_id\":\"01900000-0000-7000-8000-000000000000\",\"username\":\"ann\"}") {
            ($0.path, $0.isSignedIn) = ("/api/friends/request", true)
        },
        Case("none of a oneof", "{}") { ($0.path, $0.isSignedIn) = ("/api/friends/request", true) },
    ]

    @Test(arguments: bodies + routes + mistakes) func `wrong requests are refused with the reason`(wrong: Case) async throws {
        let home = try await Installation.shared.value
        var headers = wrong.headers + [("X-Request-Id", "wrong-1.b_2")]
        if !headers.contains(where: { $0.0 == "Content-Type" }), wrong.body != nil {
            headers.append(("Content-Type", "application/json"))
        }
        if wrong.isSignedIn { headers.append(("Authorization", "Bearer \(try await Self.user.value.token)")) }
        let reply = try await home.http.send(wrong.method, wrong.path, headers: headers, body: wrong.body)
        #expect(reply.status == wrong.status, "\(reply.text)")
        #expect(reply.code == wrong.code, "\(reply.text)")
        Self.expectEnvelope(reply)
        #expect(reply.header("X-Request-Id") == "wrong-1.b_2")
        #expect(reply.json["meta"]["request_id"].string == "wrong-1.b_2")
        if let fields = wrong.fields { #expect(Set(reply.fields) == fields) }
        #expect(wrong.says.isEmpty || reply.text.contains(wrong.says), "\(reply.text)")
        if let allow = wrong.allow { #expect(reply.header("Allow") == allow) }
        #expect(try await home.sql("SELECT count(*) FROM auth.account WHERE email_key LIKE '%@\(Self.domain)'") == "0")
    }

    static let user = Task { try await Person.register("bad", at: try await Installation.shared.value) }

    /// PF-1's shape of an error, and nothing else.
    static func expectEnvelope(_ reply: HTTPReply) {
        #expect(reply.header("Content-Type")?.hasPrefix("application/json") == true)
        #expect(reply.json.names == ["success", "error", "meta"])
        #expect(reply.json["success"].bool == false)
        #expect(reply.json["error"].names == ["code", "reason", "message", "details"])
        #expect(reply.json["error"]["reason"] == reply.json["error"]["code"])
        #expect(reply.json["error"]["message"].string?.isEmpty == false)
        #expect(reply.json["error"]["details"].list.allSatisfy { $0.names == ["field", "message"] })
        #expect(reply.header("X-Request-Id")?.isEmpty == false)
        #expect(reply.header("Cache-Control") == "no-store", "caches keep 404 of themselves")
    }

    @Test func `a request id that could forge a log line is replaced`() async throws {
        let home = try await Installation.shared.value
        for sent in ["a b", "\"},{", String(repeating: "x", count: 65)] {
            let reply = try await home.call("GET", "/api/nothing", headers: [("X-Request-Id", sent)])
            #expect(reply.header("X-Request-Id") != sent)
            Self.expectEnvelope(reply)
        }
    }

    @Test func `tokens that are not ours are refused`() async throws {
        let home = try await Installation.shared.value
        let own = try await Self.user.value.token
        let parts = own.split(separator: ".").map(String.init)
        // Only registered: by the next request its clock may have moved on.
        let elsewhere = Person(home: try await Installation.timeTravelling.value, username: Person.unique("bad"))
        let registered = try await Person.patiently {
            try await elsewhere.home.call("POST", "/api/auth/register", json: elsewhere.registration())
        }
        let foreign = try #require(registered.data["access_token"].string)
        let none = Self.encoded("{\"alg\":\"none\",\"typ\":\"JWT\"}")
        let symmetric = Self.encoded("{\"alg\":\"HS256\",\"typ\":\"JWT\"}")
        let claims = Self.encoded("{\"sub\":\"01900000-0000-7000-8000-000000000000\",\"role\":\"admin\",\"exp\":9999999999}")
        let forged = [
            foreign, "\(none).\(parts[1]).", "\(none).\(parts[1]).\(parts[2])", "\(symmetric).\(parts[1]).\(parts[2])",
            "\(parts[0]).\(claims).\(parts[2])", "\(parts[0]).\(parts[1]).", "\(parts[0]).\(parts[1])", "x", "..",
            String(repeating: "a", count: 5_000), parts[0] + "." + parts[1] + "." + String(parts[2].reversed()),
        ]
        for token in forged {
            let reply = try await home.call("GET", "/api/users/me", token: token)
            #expect(reply.status == 401, "\(token.prefix(60))")
            #expect(reply.code == "INVALID_TOKEN", "\(token.prefix(60))")
            #expect(reply.header("WWW-Authenticate")?.hasPrefix("Bearer error=\"invalid_token\", error_description=") == true)
            Self.expectEnvelope(reply)
        }
        for headers in [[], [("Authorization", "Basic \(own)")], [("Authorization", own)]] {
            let reply = try await home.call("GET", "/api/users/me", headers: headers)
            #expect(reply.status == 401)
            #expect(reply.code == "AUTHENTICATION_REQUIRED")
        }
        #expect(try await home.call("GET", "/api/users/me", token: own).status == 200)
    }

    private static func encoded(_ text: String) -> String {
        Data(text.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    @Test func `nothing secret is logged, whatever fails`() async throws {
        let home = try await Installation.shared.value
        var person = try await Person.register("hush", at: home)
        let tokens = [person.token, person.refreshToken]
        let wrong = "wr0ng-and-secret-password"
        _ = try await home.call("POST", "/api/auth/register", json: person.registration())
        _ = try await home.call("POST", "/api/auth/login", json: "{\"email\":\(quoted(person.email)),\"password\":\"\(wrong)\"}")
        _ = try await home.call(
            "POST",
            "/api/auth/login",
            json: "{\"email\":\(quoted(person.email)),\"password\":{\"x\":\"\(wrong)\"}}"
        )
        _ = try await home.call("POST", "/api/auth/refresh", json: "{\"refresh_token\":\"\(wrong)\"}")
        _ = try await home.call("GET", "/api/users/me", token: person.token + "x")
        try await person.signIn()
        _ = try await person.post("/api/auth/logout")
        let logs = home.logs
        #expect(logs.contains("\"ready\""), "these are the logs")
        let secrets = [Person.password, wrong, person.email] + tokens + [person.token, person.refreshToken]
        for secret in secrets { #expect(!logs.contains(secret), "\(secret.prefix(12))… is in a log") }
        for name in ["nats-auth", "postgres-auth", "postgres-admin", "media-signing-key", "refresh-secret"] {
            #expect(!logs.contains(try home.secret(name)), "the secret \(name) is in a log")
        }
    }
}
