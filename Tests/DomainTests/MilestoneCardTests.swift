import Kernel
import MediaDomain
import Testing

@Suite struct MilestoneCardTests {
    private func person(_ name: String, _ username: String = "user") throws -> CardPerson {
        CardPerson(id: try #require(UserID("0190c0de-0000-7000-8000-000000000001")), displayName: name, username: username)
    }

    @Test(arguments: [
        ("Ada Lovelace", "AL"), ("ada", "A"), ("Jean-Luc Picard", "JP"), ("élodie", "É"), ("山田 太郎", "山"), ("محمد سلمان", "م"),
        ("🦄 fan", "🦄"),
        ("(Ben) Smith", "BS"), ("7 of 9", "7"), ("…", "U"), ("ßen", "SS"), ("Иван Петров", "ИП"), ("👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦"),
    ]) func `initials stand for a name`(name: String, initials: String) throws {
        #expect(try person(name).initials == initials)
    }

    @Test(arguments: [
        ("  Ada \n\t Lovelace ", "Ada Lovelace"), ("\u{202E}evil\u{202C}", "evil"), ("\u{200F}\u{0}\u{7}", "user"), ("", "user"),
        ("a\u{2028}b", "a b"), ("👩‍👧", "👩‍👧"),
    ]) func `a name shows and commands nothing`(name: String, shown: String) throws {
        #expect(try person(name).displayName == shown)
    }

    @Test(arguments: [
        ("2026-01-03", "2026-01-09", "Jan 3 – Jan 9, 2026"), ("2026-01-03", "2026-02-01", "Jan 3 – Feb 1, 2026"),
        ("2025-12-28", "2026-01-03", "Dec 28, 2025 – Jan 3, 2026"), ("2026-05-05", "2026-05-05", "May 5, 2026"),
    ]) func `a year that both days share is said once`(first: String, last: String, range: String) throws {
        let card = MilestoneCard(
            count: 7,
            style: .dark,
            firstDay: try #require(CalendarDate(first)),
            lastDay: try #require(CalendarDate(last)),
            people: [try person("Ada"), try person("Ben")]
        )
        #expect(card.dateRange == range)
        #expect(card.title == "🔥 7-day streak: Ada & Ben")
        #expect(card.sentence == "Ada and Ben kept their streak alive for 7 days, \(range).")
    }
}
