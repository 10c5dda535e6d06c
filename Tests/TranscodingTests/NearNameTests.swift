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
}
