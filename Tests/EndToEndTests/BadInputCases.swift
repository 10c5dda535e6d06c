/// Mistakes of an app's first weeks: each names every wrong field once and says what to send.
extension BadInputTests {
    private static let nowhere = "01900000-0000-7000-8000-000000000000"

    private static func signedIn(
        _ name: String,
        _ request: String,
        _ json: String?,
        _ fields: Set<String>?,
        says: String = ""
    ) -> Case {
        Case(name, json) {
            let parts = request.split(separator: " ").map(String.init)
            ($0.method, $0.path, $0.isSignedIn, $0.fields, $0.says) = (parts[0], parts[1], true, fields, says)
        }
    }

    static let mistakes: [Case] = [
        signedIn("a whole number as text", "PUT /api/users/me", "{\"window_start_hour\":\"9\"}", ["window_start_hour"]),
        signedIn(
            "a word of a closed set in capitals",
            "PUT /api/friends/\(nowhere)/respond",
            "{\"action\":\"ACCEPT\"}",
            ["action"],
            says: "accept"
        ),
        signedIn(
            "an end of a pause that is over, beside a reason that is none",
            "POST /api/mobile/streaks/pause",
            "{\"resume_date\":\"2020-11-01\",\"reason\":\"holiday\"}",
            nil,
            says: "resume_date"
        ),
        signedIn(
            "a role that is given away, beside a field that there is none of",
            "PUT /api/circles/\(nowhere)/members/\(nowhere)",
            "{\"role\":\"owner\",\"foo\":1}",
            ["role", "foo"]
        ),
        signedIn(
            "a word in another spelling where an id may stand",
            "GET /api/notifications/unread_count",
            nil,
            ["notification_id"],
            says: "Did you mean GET /api/notifications/unread-count?"
        ),
        signedIn(
            "a word in capitals where an id may stand",
            "GET /api/users/Me",
            nil,
            ["user_id"],
            says: "Did you mean GET /api/users/me?"
        ),
        signedIn(
            "a file as text in JSON",
            "POST /api/posts",
            "{\"photo\":\"/9j/4AAQ\",\"latitude\":52.5,\"longitude\":13.4}",
            ["photo"],
            says: "multipart/form-data"
        ),
        signedIn("a page by its number", "GET /api/friends?page=2", nil, ["page"], says: "this takes "),
        Case("JSON with a byte order mark") {
            ($0.body, $0.says) = ([0xEF, 0xBB, 0xBF] + Array("{}".utf8), "byte order mark")
        },
        Case("JSON in UTF-16") { ($0.body, $0.says) = ([0xFF, 0xFE, 0x7B, 0, 0x7D, 0], "UTF-16") },
        Case("an object of JavaScript as text", "[object Object]") { $0.says = "JSON.stringify" },
        Case("JSON with single quotes", "{'email':'a@\(domain)'}") { $0.says = "double quotes" },
        Case("JSON with a comma too many", "{\"email\":\"a@\(domain)\",}") { $0.says = "no comma" },
        Case("JSON with a comment", "{/* me */}") { $0.says = "no comments" },
        Case("a token without its scheme") {
            ($0.method, $0.path, $0.status, $0.code) = ("GET", "/api/users/me", 401, "AUTHENTICATION_REQUIRED")
            ($0.headers, $0.says) = ([("Authorization", "eyJhbGciOiJSUzI1NiJ9.e30.AAAA")], "the word Bearer once")
        },
        Case("a scheme that comes twice") {
            ($0.method, $0.path, $0.status, $0.code) = ("GET", "/api/users/me", 401, "AUTHENTICATION_REQUIRED")
            ($0.headers, $0.says) = ([("Authorization", "Bearer Bearer x")], "the word Bearer once")
        },
    ]
}
