import Kernel
import Testing

@testable import NotificationsDomain

/// The words of mails.
struct MailTextTests {
    private static let at = Instant(seconds: 1_800_000_000)
    private static let contents: [MailContent] = [
        .verification(link: "https://example.com/verify/abc"), .passwordReset(link: "https://example.com/reset/abc"),
        .emailChangeConfirm(link: "https://example.com/verify/def"), .emailChangeNotice(newAddress: "b…@example.org"),
        .passwordChanged, .deletionScheduled(at: at), .deletionUndone(ended: nil),
        .purchaseReceipt(product: "100 coins", price: "4.99 EUR", order: "GPA.1234", at: at),
        .secondFactorEnrolled, .secondFactorRemoved, .recoveryCodeUsed(left: 9),
        .appleLinked(isPasswordRemoved: false), .appleLinked(isPasswordRemoved: true),
        .registration(link: "https://example.com/verify/ghi"), .accountExists(link: "https://example.com/reset/ghi"),
    ]

    @Test(arguments: MailLanguage.allCases)
    func `every mail has a subject, says its values in both forms, and differs from all others`(language: MailLanguage) {
        let texts = Self.contents.map { MailText($0, language) }
        #expect(Set(texts.map(\.subject)).count == texts.count)
        for text in texts {
            #expect((1...60).contains(text.subject.count) && text.html.contains("<html lang=\"\(language.rawValue)\">"))
            #expect(!text.plain.contains("<p") && text.plain.contains(text.footnote))
            for value in text.facts.map(\.value) + [text.action?.link].compactMap({ $0 }) {
                #expect(text.plain.contains(value) && text.html.contains(value), "\(value)")
            }
        }
        let facts = texts.flatMap(\.facts).map(\.value)
        #expect(["100 coins", "4.99 EUR", "GPA.1234"].allSatisfy(facts.contains))
        #expect(texts[3].plain.contains("b…@example.org"))
    }

    @Test func `the languages differ in every text, and dates are theirs`() {
        for content in Self.contents {
            let (english, german) = (MailText(content, .english), MailText(content, .german))
            #expect(english.subject != german.subject && english.footnote != german.footnote)
            #expect(zip(english.paragraphs, german.paragraphs).allSatisfy { $0 != $1 })
        }
        #expect(MailText(.deletionScheduled(at: Self.at), .english).plain.contains("15 January 2027"))
        #expect(MailText(.deletionScheduled(at: Self.at), .german).plain.contains("15. Januar 2027"))
    }

    @Test(arguments: [
        ("", MailLanguage.english), ("de", .german), ("de-AT", .german), ("DE_ch", .german), ("en-GB", .english),
        ("fr", .english),
        ("den", .english),
    ]) func `a locale picks the language`(locale: String, language: MailLanguage) {
        #expect(MailLanguage(locale: locale) == language)
    }

    @Test(arguments: MailLanguage.allCases)
    func `a mail about a recovery code says how many are left, and what to do after the last one`(language: MailLanguage) {
        let (some, none) = (MailText(.recoveryCodeUsed(left: 9), language), MailText(.recoveryCodeUsed(left: 0), language))
        #expect(some.plain.contains("9") && some.html.contains("9"))
        #expect(!none.plain.contains("0") && none.paragraphs.last != some.paragraphs.last)
    }

    @Test func `a mail about a restored account says what has not come back`() {
        let undone = MailContent.deletionUndone(ended: EndedItems(friendships: 2, circles: 0, streaks: 1))
        #expect(MailText(undone, .english).plain.contains("Not restored: 2 friendships and 1 streak with a friend."))
        #expect(MailText(undone, .german).plain.contains("Nicht wiederhergestellt: 2 Freundschaften und 1 gemeinsamer Streak."))
    }

    @Test func `values cannot become markup, lines or headers`() {
        let evil = "<script>\"'&\r\nBcc: eve@example.com"
        for language in MailLanguage.allCases {
            let text = MailText(.purchaseReceipt(product: evil, price: evil, order: evil, at: Self.at), language)
            #expect(!text.html.contains("<script>") && text.html.contains("&lt;script&gt;&quot;&#39;&amp;"))
            #expect(!text.plain.contains("\r") && !text.plain.contains("\nBcc"))
            let link = MailText(.verification(link: "https://x/\"onclick=\""), language)
            #expect(!link.html.contains("\"onclick"))
        }
    }
}
