import AuthDomain
import Kernel
import TestSupport
import Testing

/// AU-1, AU-9: names and versions as people and programs send them.
@Suite struct NameRuleTests {
    @Test(arguments: 0..<300) func `a name that is stored can be seen, is short enough and says the same again`(seed: UInt64)
        throws
    {
        var random = Seeded(seed)
        let odd: [Unicode.Scalar] = [
            " ", "\u{9}", "\u{A0}", "\u{AD}", "\u{200B}", "\u{200D}", "\u{202E}", "\u{2066}", "\u{2800}", "\u{3164}", "\u{FEFF}",
            "\u{301}",
            "\u{E000}", "\u{FFFF}", "a", "é", "字", "👩", "🏽", "0",
        ]
        let text = String(String.UnicodeScalarView((0..<Int.random(in: 0...60, using: &random)).map { _ in random.pick(odd) }))
        guard let name = DisplayName.cleaned(text) else { return }
        #expect(try DisplayName.checked(name) == name, "seed \(seed)")
        #expect(DisplayName.cleaned(name) == name, "seed \(seed)")
        #expect((1...DisplayName.longest).contains(name.count), "seed \(seed)")
        #expect(name.utf8.count <= TextLength.mostBytes(characters: DisplayName.longest), "seed \(seed)")
    }

    @Test func `an account has a name even when the e-mail makes none`() {
        #expect(DisplayName.fallback(email: "ann@example.com", username: "x") == "ann")
        #expect(DisplayName.fallback(email: "\u{200B}@example.com", username: "user_1") == "user_1")
        #expect(DisplayName.fallback(email: "\u{202E}evil@example.com", username: "user_1") == "evil")
    }

    @Test(arguments: [
        "admin", "admin@x.org", "support@x", "help", "a.d.m.i.n", "admin\(String(repeating: "_", count: 25))x@x.org",
        "\(String(repeating: "_", count: 30))x@x.org", "user\(String(repeating: "_", count: 26))x@x.org",
    ])
    func `a name made from an e-mail is never a reserved one`(email: String) {
        for attempt in 0..<6 {
            let name = Username.proposal(email: email, attempt: attempt, salt: 7)
            #expect(Username.isValid(name) && !Username.isReserved(name), "\(name)")
        }
    }

    @Test(arguments: [
        "admin", "Admin", "ADMIN", " a d m i n ", "a.d.m.i.n", "Adm\u{131}n", "\u{430}dmin", "аdmіn", "ＡＤＭＩＮ", "𝐚𝐝𝐦𝐢𝐧", "ⓐⓓⓜⓘⓝ",
        "🅰dmin",
        "ádmîn", "a\u{301}dmin", "a\u{34F}d\u{200D}min", "adrnin", "adm1n", "4dmin", "@dmin", "ADMlN", "ΑDМIΝ", "Admin Team",
        "The Admins",
        "Support", "SUPPORT", "Suppоrt", "Ѕuррort", "5upp0rt", "Suppoгt", "Suppoʀт", "SupportTeam", "Customer Support",
        "Help & Support",
        "moderator", "Мoderator", "System", "Official", "StreakSnap", "streak snap", "Streak-Snap Support", "ЅtreakЅnap",
        "Streаk5nap",
        "I ♥ StreakSnap", "Official StreakSnap Account", "Pebble", "Pеbble Team",
    ]) func `no display name speaks for the service, or looks as if it did`(name: String) {
        #expect(ReservedNames(apps: ["Pebble"]).contains(name))
    }

    @Test(arguments: [
        "Ann", "Ann Admin Lee", "Sam Modigliani", "Theo", "Mo", "Max Support-Fischer", "Supportive Sue", "Adminah", "Team Ann",
        "The Users",
        "Customer", "Help", "Анна", "Мария", "Νίκος", "字", "👩🏽", "José", "Snap", "Streak", "Streak Hunter", "Peebles", "1",
        "Modesty", "",
    ]) func `names of people are none of those`(name: String) {
        #expect(!ReservedNames(apps: ["Pebble"]).contains(name))
    }

    @Test(arguments: ["admin@example.com", "support@example.com", "streaksnap@example.com"])
    func `a name made from an e-mail does not speak for the service either`(email: String) {
        #expect(ReservedNames().fallback(email: email, username: "user_7") == "user_7")
    }

    @Test func `versions are compared number by number`() throws {
        let ordered = try [
            "1", "1.0", "1.2", "1.010", "2", "2025-12", "2026-01", "2026-01-15", "2026-02", "12345678901234567890123",
        ].map {
            try #require(TermsVersion($0))
        }
        for (index, version) in ordered.enumerated() {
            for (other, later) in ordered.enumerated() { #expect((version < later) == (index < other), "\(version) \(later)") }
        }
        for wrong in ["", ".", "1.", "-1", "1..2", "v1", "1,2", " 1", "１"] {
            #expect(TermsVersion(wrong) == nil, "\(wrong)")
        }
    }

    @Test func `where the installation names a version, only it is accepted`() throws {
        let (old, new) = (try #require(TermsVersion("2025-12")), try #require(TermsVersion("2026-01")))
        #expect(try TermsVersion.accepting("2026-01", accepted: old, inForce: new) == new)
        for other in ["2025-12", "2026-02", "2026-1.0"] {
            let error = #expect(throws: ServiceError.self) { try TermsVersion.accepting(other, accepted: nil, inForce: new) }
            #expect(error?.details.first?.field == "version")
        }
    }
}
