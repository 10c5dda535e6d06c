import Testing

@testable import Bus

/// Which subjects a subscription is for; the broker's own rule.
@Suite struct SubjectPatternTests {
    private func matches(_ pattern: String, _ subject: String) -> Bool {
        subject.withCString { SubjectPattern(pattern).matches($0) }
    }

    @Test(arguments: [
        ("a", "a", true), ("a", "b", false), ("a", "", false), ("a.b", "a.b", true), ("a.b", "a", false), ("a.b", "a.b.c", false),
        ("a.b", "a.bc", false), ("a.*", "a.b", true), ("a.*", "a", false), ("a.*", "a.", false), ("a.*", "a.b.c", false),
        ("*", "a", true), ("*", "a.b", false), ("*.b", "a.b", true), ("*.b", "b", false), ("a.*.c", "a.b.c", true),
        ("a.*.c", "a..c", false), ("a.*.c", "a.b.d", false), (">", "a", true), (">", "a.b", true), (">", "", false),
        ("a.>", "a", false), ("a.>", "a.", false), ("a.>", "a.b", true), ("a.>", "a.b.c", true), ("a.>", "ab.c", false),
        ("a.*.>", "a.b.c", true), ("a.*.>", "a.b", false), ("a*", "a*", true), ("a*", "ab", false), ("a.>b", "a.>b", true),
        ("a.>b", "a.cb", false), ("ü.*", "ü.ß", true),
    ]) func `wildcards stand for whole tokens`(pattern: String, subject: String, isMatch: Bool) {
        #expect(matches(pattern, subject) == isMatch, "\(pattern) \(subject)")
    }

    /// Compared with the rule written down plainly.
    @Test func `any pattern agrees with the rule`() {
        var random = SeededGenerator(seed: 7)
        let tokens = ["a", "b", "ab", "*", ">", "a*", ""]
        var matched = 0
        for _ in 0..<20_000 {
            let pattern = (0..<Int.random(in: 1...4, using: &random)).map { _ in tokens.randomElement(using: &random) ?? "" }
            let subject = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                ["a", "b", "ab", "a*", ""].randomElement(using: &random) ?? ""
            }
            let text = pattern.joined(separator: ".")
            guard Subject.isSubscribable(text) else { continue }
            let expected = Self.rule(pattern[...], subject[...])
            #expect(matches(text, subject.joined(separator: ".")) == expected, "\(text) \(subject)")
            matched += expected ? 1 : 0
        }
        #expect(matched > 300)
    }

    @Test func `only what can be published to below the root is an inbox`() {
        for subject in ["_INBOX.a", "_INBOX.a.b.c", "_INBOX.ü", "_INBOX." + String(repeating: "a", count: 1_017)] {
            #expect(Subject.isInbox(subject) && Subject.isPublishable(subject), "\(subject)")
        }
        for subject in [
            "", "_INBOX", "_INBOX.", "_INBOXES.a", "_inbox.a", "a._INBOX.b", "_INBOX..a", "_INBOX.a.", "_INBOX.a..b", "_INBOX.*",
            "_INBOX.a.>", "_INBOX.a b", "_INBOX.a\n", "_INBOX.\u{7F}", "rpc.auth.v1.DeleteAccount",
            "$JS.ACK.EVT.reader.1.1.1.1.0", "_INBOX." + String(repeating: "a", count: 1_018),
        ] { #expect(!Subject.isInbox(subject), "\(subject)") }
    }

    private static func rule(_ pattern: ArraySlice<String>, _ subject: ArraySlice<String>) -> Bool {
        guard let first = pattern.first else { return subject.isEmpty }
        guard let token = subject.first else { return false }
        switch first {
        case ">" where pattern.count == 1: return !token.isEmpty
        case "*": return !token.isEmpty && rule(pattern.dropFirst(), subject.dropFirst())
        default: return first == token && rule(pattern.dropFirst(), subject.dropFirst())
        }
    }
}
