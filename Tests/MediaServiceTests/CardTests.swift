import Cryptography
import Foundation
import Images
import Kernel
import Logging
import MediaAPI
import MediaDomain
import Testing

@testable import MediaCards

/// What cards look like, and the page around them (MC-1, MC-2). The cards lie in `.run/artefacts/cards` afterwards, to be looked at.
@Suite struct CardTests {
    typealias Style = MediaDomain.CardStyle

    private static let painter = PosterPainter(logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))

    private func person(_ number: Int, _ name: String, _ username: String) throws -> CardPerson {
        let id = try #require(UserID("0190c0de-0000-7000-8000-00000000000\(number)"))
        return CardPerson(id: id, displayName: name, username: username)
    }

    private func card(_ style: Style, _ count: Int32, _ people: [CardPerson]) throws -> MilestoneCard {
        let first = try #require(CalendarDate(year: 2026, month: 1, day: 3))
        return MilestoneCard(
            count: count,
            style: style,
            firstDay: first,
            lastDay: first.advanced(by: Int(count) - 1),
            people: people
        )
    }

    private func paint(_ card: MilestoneCard, avatars: [[UInt8]?] = [nil, nil], as name: String) async throws -> [UInt8] {
        let png = try await Self.painter.png(CardPoster(card: card, avatars: avatars).poster)
        let folder = URL(filePath: ".run/artefacts/cards")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data(png).write(to: folder.appending(path: "\(name).png"))
        return png
    }

    @Test(arguments: [(Style.orange, Int32(7)), (.purple, 30), (.green, 100), (.dark, 1_000), (.orange, 365)])
    func `a card is a picture of a story's size in its style`(style: Style, count: Int32) async throws {
        let people = [try person(1, "Ada Lovelace", "ada"), try person(2, "Ben", "ben.b")]
        let png = try await paint(try card(style, count, people), as: "\(style.name)-\(count)")
        #expect(png.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        #expect(Array(png[16..<24]) == [0, 0, 0x04, 0x38, 0, 0, 0x07, 0x80], "1080 × 1920, from the header")
        #expect((100_000..<2_000_000).contains(png.count), "\(png.count) bytes")
    }

    @Test func `a card of one's own streak says what it is about`() async throws {
        let first = try #require(CalendarDate(year: 2026, month: 1, day: 3))
        func card(_ style: Style, _ emoji: String, _ name: String, _ title: String, isTeam: Bool = false) throws -> MilestoneCard
        {
            MilestoneCard(
                count: 30,
                style: style,
                firstDay: first,
                lastDay: first.advanced(by: 29),
                subject: CardSubject(emoji: emoji, name: name, title: title, isTeam: isTeam),
                people: [try person(1, "Ada Lovelace", "ada")]
            )
        }
        let cards = [
            "check-in": try card(.orange, "🔥", "Daily Check-In", "Monthly Master"),
            "typed": try card(.green, "👨‍🍳", "Recipe Creator", "Monthly Master"),
            "team": try card(.dark, "🔥", "The early\u{202E} runners of the old town, since 1994", "", isTeam: true),
        ]
        var pictures: Set<[UInt8]> = []
        for (name, card) in cards {
            pictures.insert(try await paint(card, avatars: [nil], as: "kind-\(name)"))
            let wide = try await Self.painter.png(CardPoster(card: card, avatars: [nil]).widePoster)
            try Data(wide).write(to: URL(filePath: ".run/artefacts/cards/kind-\(name)-wide.png"))
            let unsaid = MilestoneCard(
                count: card.count,
                style: card.style,
                firstDay: card.firstDay,
                lastDay: card.lastDay,
                people: card.people
            )
            #expect(try await Self.painter.png(CardPoster(card: unsaid, avatars: [nil]).widePoster) != wide)
        }
        #expect(pictures.count == 3)
        #expect(cards["team"]?.title == "🔥 30-day streak: Ada Lovelace, The early runners of the old town, since 1994")
        #expect(cards["check-in"]?.sentence.hasPrefix("Ada Lovelace kept the Daily Check-In streak alive for 30 days, ") == true)
    }

    @Test func `names of any script and length stay in their place`() async throws {
        let long = [
            try person(3, "محمد بن سلمان العزيز الطويل جدا جدا", "muhammad_the_long_name.1234567"),
            try person(4, "山田 太郎 🦄 <b>&amp;</b>", "taro"),
        ]
        let png = try await paint(try card(.purple, 30, long), as: "names")
        let family = [try person(5, "👩‍👩‍👧‍👦", "fam"), try person(6, "Wolfgang Amadeus Theophilus Mozart von Salzburg X", "wolfi")]
        let other = try await paint(try card(.purple, 30, family), as: "names-2")
        #expect(png != other)
    }

    @Test func `avatars are shown where there are some`() async throws {
        let people = [try person(1, "Ada Lovelace", "ada"), try person(2, "Ben", "ben.b")]
        let avatar = try SamplePhoto(seed: 4, width: 512, height: 512).jpeg()
        let (none, one) = (
            try await paint(try card(.green, 50, people), as: "avatars-none"),
            try await paint(try card(.green, 50, people), avatars: [avatar, nil], as: "avatars-one")
        )
        let both = try await paint(try card(.green, 50, people), avatars: [avatar, avatar], as: "avatars-both")
        #expect(none != one && one != both)
        #expect(
            try await paint(try card(.green, 50, people), avatars: [[1, 2], nil], as: "avatars-none") == none,
            "initials instead"
        )
    }

    @Test func `the preview of a link is as wide as networks show it, and says the same`() async throws {
        let people = [try person(1, "Ada Lovelace", "ada"), try person(2, "Ben", "ben.b")]
        for style in [Style.orange, .purple, .green, .dark] {
            let card = try card(style, 365, people)
            let png = try await Self.painter.png(CardPoster(card: card, avatars: [nil, nil]).widePoster)
            let folder = URL(filePath: ".run/artefacts/cards")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data(png).write(to: folder.appending(path: "wide-\(style.name).png"))
            #expect(Array(png[16..<24]) == [0, 0, 0x04, 0xB0, 0, 0, 0x02, 0x76], "1200 × 630")
            let other = try await Self.painter.png(
                CardPoster(card: try self.card(style, 30, people), avatars: [nil, nil]).widePoster
            )
            #expect(png != other, "the count is on it")
        }
    }

    @Test func `the page says what the card says, and escapes it`() throws {
        let people = [try person(1, "<script>alert('Ada')</script>", "ada"), try person(2, "\"Ben\" & co", "ben.b")]
        let page = SharePage(
            card: try card(.orange, 7, people),
            address: "https://snaps.example/s/abc",
            imagePath: "/s/abc.png",
            previewAddress: "https://snaps.example/s/abc.wide.png"
        ).html
        #expect(
            !page.contains("<script") && !page.contains("javascript:") && page.firstMatch(of: /\son[a-z]+=/) == nil,
            "no script of any kind"
        )
        #expect(page.contains("&lt;script&gt;alert(&#39;Ada&#39;)&lt;/script&gt;"))
        #expect(page.contains("&quot;Ben&quot; &amp; co"))
        #expect(page.contains(#"<meta property="og:image" content="https://snaps.example/s/abc.wide.png">"#))
        #expect(page.contains(#"<meta name="twitter:card" content="summary_large_image">"#))
        #expect(page.contains("Jan 3 – Jan 9, 2026"))
    }

    @Test func `the page lies beside its card`() async throws {
        let card = try card(.purple, 30, [try person(1, "Ada Lovelace", "ada"), try person(4, "山田 太郎", "taro")])
        _ = try await paint(card, as: "page")
        let page = SharePage(card: card, address: "page.html", imagePath: "page.png", previewAddress: "page.png")
        try Data(page.html.utf8).write(to: URL(filePath: ".run/artefacts/cards/page.html"))
        try Data(SharePage.nothing.utf8).write(to: URL(filePath: ".run/artefacts/cards/nothing.html"))
        #expect(page.html.contains("<img src=\"page.png\""))
    }

    @Test func `the style sheet is the one that the policy allows`() {
        let hash = Data(SHA256.hash(data: Array(SharePage.style.utf8))).base64EncodedString()
        let descriptor = MediaDescriptor.bytes
        #expect(descriptor.firstRange(of: Array("style-src 'sha256-\(hash)'".utf8)) != nil, "put sha256-\(hash) into cards.proto")
        for page in [SharePage.nothing] {
            #expect(page.contains("<style>\(SharePage.style)</style>") && !page.contains("style=\""))
        }
    }

    @Test func `a token has more than 128 bits and comes once`() {
        let tokens = (0..<1_000).map { _ in MilestoneCards.token() }
        #expect(Set(tokens).count == 1_000)
        #expect(tokens.allSatisfy { $0.utf8.count == 32 })
    }
}
