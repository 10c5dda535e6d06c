import Foundation
import Images
import Kernel
import Logging
import MediaDomain
import Testing

@testable import MediaService

struct CardGallery {
    @Test func draws() async throws {
        let painter = PosterPainter(logger: Logger(label: "x"))
        let folder = URL(filePath: ".run/artefacts/cards")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        func person(_ n: Int, _ name: String, _ user: String) -> CardPerson {
            CardPerson(id: UserID("0190c0de-0000-7000-8000-00000000000\(n)")!, displayName: name, username: user)
        }
        let a = CalendarDate(year: 2026, month: 1, day: 3)!
        for (index, (style, count, people, avatars)) in [
            (CardStyle.orange, Int32(7), [person(1, "Ada Lovelace", "ada"), person(2, "Ben", "ben.b")], [nil, nil] as [[UInt8]?]),
            (.purple, 30, [person(3, "محمد بن سلمان العزيز الطويل جدا جدا", "muhammad_the_long_name.1234567"), person(4, "山田 太郎", "taro")], [nil, nil]),
            (.green, 100, [person(5, "Zoë 🦄 <b>&amp;", "zoe"), person(6, "Wolfgang Amadeus Theophilus Mozart von Salzburg X", "wolfi")], [try SamplePhoto(seed: 3).jpeg(), try SamplePhoto(seed: 4).jpeg()]),
            (.dark, 1000, [person(7, "👩‍👩‍👧‍👦", "fam"), person(8, "Ægir Þór", "aegir")], [nil, try SamplePhoto(seed: 5).jpeg()]),
        ].enumerated() {
            let card = MilestoneCard(count: count, style: style, firstDay: a, lastDay: a.advanced(by: Int(count) - 1), people: people)
            let start = ContinuousClock.now
            let png = try await painter.png(CardPoster(card: card, avatars: avatars).poster)
            print("CARD \(index) \(png.count) bytes, \(ContinuousClock.now - start)")
            try Data(png).write(to: folder.appending(path: "\(style.name)-\(count).png"))
        }
    }
}
