import Foundation
import Kernel
import NotificationsAPI
import NotificationsDomain
import TestSupport
import Testing

/// What notifications say, in each language (NO-1).
struct TextTests {
    private func values(_ dice: inout Seeded) -> NotificationValues {
        NotificationValues(
            wording: Int16.random(in: 0...4, using: &dice),
            count: dice.pick([0, 1, 2, 30, 1_000]),
            others: dice.pick([0, 1, 2, 99]),
            amount: dice.pick([0, 1, 2, 59]),
            subject: String(repeating: dice.pick(["a", "ä", "👨‍👩‍👧‍👦", "日", " "]), count: dice.pick([1, 40, 400])),
            emoji: "🍽️"
        )
    }

    @Test func `the kinds are those of the API, by number and by name`() {
        for kind in NotificationKind.allCases { #expect(Kind(rawValue: kind.rawValue).name == kind.name) }
        for number in Int32(1)...200 {
            let isInAPI = !Kind(rawValue: number).name.isEmpty && Kind(rawValue: number).name.first?.isNumber != true
            #expect(isInAPI == (NotificationKind(rawValue: number) != nil), "\(number) \(Kind(rawValue: number).name)")
        }
    }

    @Test func `every kind has its own text in every language`() {
        let values = NotificationValues(count: 12, others: 2, amount: 3, subject: "Lunch", emoji: "🍽️")
        for kind in NotificationKind.allCases {
            let texts = Language.allCases.map { NotificationText.of(kind, values, name: "Ben", in: $0) }
            #expect(Set(texts).count == texts.count, "\(kind)")
            #expect(texts.allSatisfy { !$0.title.isEmpty && !$0.body.isEmpty })
        }
    }

    @Test func `a streak that ended with an account names no user, and blames none`() {
        let values = NotificationValues(wording: Wording.accountDeleted, count: 12)
        let texts = Language.allCases.map { NotificationText.of(.streakBroken, values, name: "Ben", in: $0) }
        #expect(texts.map(\.title) == ["🔥 Your 12-day streak has ended", "🔥 Dein Streak von 12 Tagen ist zu Ende"])
        #expect(texts.allSatisfy { !"\($0.title) \($0.body)".contains("Ben") })
    }

    @Test(arguments: [
        (EndedItems(friendships: 1, circles: 0, streaks: 0), "1 friendship", "1 Freundschaft"),
        (EndedItems(friendships: 3, circles: 1, streaks: 0), "3 friendships and 1 circle", "3 Freundschaften und 1 Gruppe"),
        (
            EndedItems(friendships: 2, circles: 2, streaks: 1), "2 friendships, 2 circles and 1 streak with a friend",
            "2 Freundschaften, 2 Gruppen und 1 gemeinsamer Streak"
        ),
        (EndedItems(friendships: 0, circles: 0, streaks: 4), "4 streaks with friends", "4 gemeinsame Streaks"),
    ])
    func `a restored account is shown what has not come back, and one is not several`(
        ended: EndedItems,
        english: String,
        german: String
    ) {
        let bodies = Language.allCases.map {
            NotificationText.of(.accountRestored, NotificationValues(ended), name: nil, in: $0).body
        }
        #expect(
            bodies == [
                "Your own streaks go on. Not restored: \(english).",
                "Deine eigenen Streaks gehen weiter. Nicht wiederhergestellt: \(german).",
            ]
        )
    }

    @Test(arguments: Language.allCases) func `that nothing ended, and that it is not known, are texts of their own`(
        language: Language
    ) {
        let nothing = NotificationValues(EndedItems(friendships: 0, circles: 0, streaks: 0))
        let bodies = [nothing, NotificationValues(nil)].map {
            NotificationText.of(.accountRestored, $0, name: nil, in: language).body
        }
        #expect(bodies[0] != bodies[1])
        #expect(bodies.allSatisfy { !$0.contains("0") })
    }

    @Test func `what the catalogue sells has a German name`() throws {
        let store = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Services/Billing/Money/Migrations/V0003_store.sql")
        // ('token_pack_3', 2, 110, '3 recovery tokens', …
        let titles = try String(contentsOf: store, encoding: .utf8).matches(of: /\('[a-z_0-9]+', [123], [0-9]+, '([^']+)'/).map {
            String($0.output.1)
        }
        #expect(titles.count == 15)
        for title in titles {
            let text = NotificationText.of(.purchaseReceipt, NotificationValues(subject: title), name: nil, in: .german)
            #expect(!text.body.contains(" \(title)."), "\(title)")
        }
        let new = NotificationValues(subject: "Streak sauna")
        #expect(NotificationText.of(.purchaseReceipt, new, name: nil, in: .german).body.contains("Streak sauna"))
    }

    @Test func `one is not several`() {
        func text(_ kind: NotificationKind, others: Int32 = 0, amount: Int32 = 0, _ language: Language) -> NotificationText {
            let values = NotificationValues(count: 12, others: others, amount: amount, subject: "Lunch", emoji: "🍽️")
            return NotificationText.of(kind, values, name: "Ben", in: language)
        }
        #expect(text(.windowClosing, amount: 1, .english).title == "⏰ 1 minute left to snap")
        #expect(text(.windowClosing, amount: 30, .german).title == "⏰ Noch 30 Minuten für deinen Snap")
        #expect(text(.windowClosing, others: 1, .english).body == "🍽️ Lunch — Ben and 1 other are waiting!")
        #expect(text(.windowClosing, others: 2, .german).body == "🍽️ Lunch — Ben und 2 andere warten!")
        #expect(text(.streakAtRisk, amount: 3, .english).body == "Your 12-day streak with Ben expires in 3 hours!")
        #expect(text(.streakAtRisk, amount: 1, .german).body == "Dein Streak von 12 Tagen mit Ben läuft in 1 Stunde ab!")
        #expect(text(.streakAtRisk, others: 2, amount: 3, .english).title == "⚠️ 3 streaks at risk!")
        let safe = "Your 12-day streak is safe."
        #expect(text(.freezeUsed, amount: 2, .english).body == "\(safe) You have 2 freezes remaining.")
        #expect(text(.freezeUsed, amount: 1, .english).body == "\(safe) You have 1 freeze remaining. This is your last freeze!")
        #expect(
            text(.freezeReturned, amount: 1, .english).body == "The day it was used on no longer needs it. You have 1 freeze now."
        )
        // It was spent on another date at once.
        #expect(text(.freezeReturned, .english).body == "The day it was used on no longer needs it.")
        #expect(text(.freezeReturned, amount: 2, .german).body.hasSuffix("braucht ihn nicht mehr. Du hast jetzt 2 Freezes."))
        #expect(text(.freezeReturned, .german).body == "Der Tag, für den er eingesetzt war, braucht ihn nicht mehr.")
        #expect(text(.streakReminder, amount: 1, .german).body == "Heute ist noch 1 Gewohnheit offen")
    }

    @Test func `streaks of one's own, in both languages`() {
        func text(_ kind: NotificationKind, _ wording: Int16, _ count: Int32, _ amount: Int32 = 0, _ subject: String = "")
            -> [String]
        {
            let values = NotificationValues(wording: wording, count: count, amount: amount, subject: subject)
            return [Language.english, .german].map { language in
                let text = NotificationText.of(kind, values, name: nil, in: language)
                return "\(text.title) \(text.body)"
            }
        }
        #expect(
            text(.streakReminder, Wording.checkInMorning, 46) == [
                "☀️ Good morning! Start your Day 47 streak check-in 🔥", "☀️ Guten Morgen! Starte deinen Check-in für Tag 47 🔥",
            ]
        )
        #expect(
            text(.streakReminder, Wording.freezeAhead, 47, 2) == [
                "❄️ Remember to check in! You have 2 freezes available if you miss today.",
                "❄️ Vergiss deinen Check-in nicht! Du hast noch 2 Freezes, falls du heute fehlst.",
            ]
        )
        #expect(
            text(.streakReminder, Wording.milestoneInTwoDays, 47, 50) == [
                "🎯 Just 2 days until your 50-day milestone! Unlock Gold Flame 🔥",
                "🎯 Noch 2 Tage bis Tag 50! Schalte frei: goldene Flamme 🔥",
            ]
        )
        #expect(
            text(.milestone, Wording.solo, 50, 0, "check_in") == [
                "🔥 Milestone! You hit 50 days of check-ins. Unlock: Gold Flame",
                "🔥 Meilenstein! 50 Tage Check-ins geschafft. Freigeschaltet: goldene Flamme",
            ]
        )
        #expect(
            text(.streakAtRisk, Wording.solo, 1, 1, "daily_snap") == [
                "⚠️ 1 hour left! Don't break your 1-day streak of daily snaps!",
                "⚠️ Noch 1 Stunde! Lass deinen Streak von 1 Tag (tägliche Snaps) nicht reißen!",
            ]
        )
        #expect(
            text(.teamAtRisk, Wording.teamGrace, 12, 1, "Runners") == [
                "⏳ Runners has a second chance! 1 hour left to save the team's 12-day streak.",
                "⏳ Runners hat eine zweite Chance! Noch 1 Stunde, um den Streak des Teams zu retten: 12 Tage.",
            ]
        )
        // Every wording has a text of its own in each language.
        let all = [(Int16(10)...20).map { text(.streakReminder, $0, 12, 14) }, (0...2).map { text(.lastFreeze, $0, 12, 1) }]
        for texts in all.flatMap({ [$0.map(\.[0]), $0.map(\.[1])] }) { #expect(Set(texts).count == texts.count, "\(texts)") }
    }

    @Test(arguments: 0..<200) func `texts stay within their lengths, and no character is cut in two`(seed: UInt64) {
        var dice = Seeded(seed)
        let kind = dice.pick(NotificationKind.allCases)
        let name = String(repeating: dice.pick(["n", "é", "👩🏽‍🚀", "🇩🇪"]), count: dice.pick([1, 50, 500]))
        let known = Set(name + "…")
        let text = NotificationText.of(kind, values(&dice), name: name, in: dice.pick(Language.allCases))
        #expect(text.title.count <= 100 && text.body.count <= 300)
        #expect(text.title.utf8.count <= 600 && text.body.utf8.count <= 1_800)
        for character in text.title + text.body where character.unicodeScalars.count > 2 {
            let isWhole = known.contains(character) || ["👨‍👩‍👧‍👦", "👨‍👩‍👧"].contains(character)
            #expect(isWhole, "\(character)")
        }
    }

    @Test func `a user without a name is a friend, and a locale picks its language`() {
        let text = NotificationText.of(.nudge, NotificationValues(), name: "", in: .english)
        #expect(text.title == "👉 your friend nudged you")
        let found = ["de", "de-AT", "DE_ch", "en-GB", "fr", "", "-"].map { Language(locale: $0) }
        #expect(found == [.german, .german, .german, .english, nil, nil, nil])
    }

    @Test func `links lead to what a notification is about`() {
        let streak = StreakID(high: 1, low: 2)
        #expect(DeepLink.path(.streakAtRisk, wording: 0, streak: streak) == "streak/\(streak)")
        #expect(DeepLink.path(.streakAtRisk, wording: 0, streak: nil) == "home")
        #expect(DeepLink.path(.streakBroken, wording: 0, streak: streak) == "streak/\(streak)")
        #expect(DeepLink.path(.streakBroken, wording: Wording.hasNoToken, streak: streak) == "paywall?context=streak_broken")
        #expect(DeepLink.path(.milestone, wording: 0, streak: streak) == "share-milestone/\(streak)")
        #expect(DeepLink.path(.friendRequest, wording: 0, streak: nil) == "friends?tab=requests")
        #expect(DeepLink.path(.friendPosted, wording: 0, streak: streak) == "home")
        #expect(DeepLink.path(.streakBroken, wording: Wording.accountDeleted, streak: streak) == "streak/\(streak)")
        #expect(DeepLink.path(.accountRestored, wording: 0, streak: nil) == "friends")
        // Streaks of one's own have no page of their own.
        for kind in [NotificationKind.freezeUsed, .lastFreeze, .freezeReturned, .repairOffer, .pauseEnded] {
            #expect(DeepLink.path(kind, wording: 0, streak: streak) == "home")
        }
        for kind in [NotificationKind.streakAtRisk, .streakBroken, .streakRecovered] {
            #expect(DeepLink.path(kind, wording: Wording.solo, streak: streak) == "home")
        }
        // Their milestones have a card as those with a friend have.
        #expect(DeepLink.path(.milestone, wording: Wording.solo, streak: streak) == "share-milestone/\(streak)")
    }
}
