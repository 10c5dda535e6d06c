import Testing

@testable import Transcoding

/// An error about a name says which one was probably meant.
struct NearNameTests {
    private let names = ["email", "new_password", "push_token", "display_name", "time_zone", "streak_ids", "id", "to"]

    @Test(arguments: [
        ("displayName", "display_name"), ("DISPLAY_NAME", "display_name"), ("display-name", "display_name"),
        ("displayname", "display_name"), ("timeZone", "time_zone"), ("timezone", "time_zone"), ("mail", "email"),
        ("emial", "email"), ("streak_id", "streak_ids"), ("streakIds[]", "streak_ids"), ("password", "new_password"),
        ("token", "push_token"), ("user_push_token", "push_token"), ("dispaly_nmae", "display_name"),
    ])
    func `what was probably meant is found`(name: String, meant: String) {
        #expect(NearName.of(name, among: names) == meant)
    }

    @Test(arguments: [
        "", "x", "ot", "user", "caption", "name.first", "time_zone.x", "user_id", String(repeating: "email", count: 9),
    ])
    func `nothing is said where nothing is near`(name: String) {
        #expect(NearName.of(name, among: names) == nil)
        #expect(NearName.problem("is not known", name, among: names) == "is not known")
    }

    @Test func `a word that two names have says nothing`() {
        #expect(NearName.of("user", among: ["user_name", "other_user"]) == nil)
        #expect(NearName.of("user", among: ["user_name"]) == "user_name")
        #expect(NearName.of("user_id", among: []) == nil)
    }

    @Test(arguments: ["reported_user_id", "user_id", "photo_id", "targetType", "comment"])
    func `a report with a field of another API learns the right one`(name: String) {
        let names = ["subject_type", "subject_id", "reason", "description"]
        let expected = [
            "targetType": "did you mean subject_type?", "comment": "this takes subject_type, subject_id, reason, description",
        ]
        let problem = NearName.problemOrAll("is not a known field", name, among: names)
        #expect(problem == "is not a known field: \(expected[name] ?? "did you mean subject_id?")")
    }

    @Test func `the kind of a name says nothing where two have it, and many names are not listed`() {
        #expect(NearName.of("user_id", among: ["streak_id", "photo_id"]) == nil)
        let many = (0..<7).map { "field\($0)x" }
        #expect(NearName.problemOrAll("is not known", "caption", among: many) == "is not known")
        #expect(NearName.problemOrAll("is not known", "caption", among: []) == "is not known")
    }
}
