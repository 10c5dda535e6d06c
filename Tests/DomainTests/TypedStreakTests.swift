import Kernel
import StreaksDomain
import Testing

/// Multipliers, flames, milestones and files of typed streaks (TS-1, TS-2).
struct TypedStreakTests {
    @Test func `coins are those of the formula, never less for more, and never above the cap`() {
        for isPremium in [false, true] {
            for isDoubled in [false, true] {
                var last = 0
                for count in 0...800 {
                    let multiplier = CoinMultiplier(count: count, isPremium: isPremium, isDoubled: isDoubled)
                    let exact = min(2.5, (1 + 0.1 * Double(count / 7)) * (isPremium ? 2 : 1) * (isDoubled ? 2 : 1))
                    #expect(abs(multiplier.value - exact) < 0.000_001)
                    #expect(multiplier.coins == Int((exact * 10).rounded()))
                    #expect(multiplier.coins >= last && multiplier.coins <= 25)
                    #expect(multiplier.coins >= CoinMultiplier(count: count, isPremium: isPremium, isDoubled: false).coins)
                    last = multiplier.coins
                }
            }
        }
        #expect(CoinMultiplier(count: .max, isPremium: true, isDoubled: true).coins == 25)
        #expect(CoinMultiplier(count: -1, isPremium: false, isDoubled: false).coins == 10)
        #expect(CoinMultiplier.milestone(50, isDoubled: true) == 100 && CoinMultiplier.milestone(50, isDoubled: false) == 50)
    }

    @Test func `flames follow the count`() {
        let flames = [0, 2, 3, 6, 7, 29, 30, 99, 100, 5_000].map { TypedType.flames($0).unicodeScalars.count }
        #expect(flames == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5])
    }

    @Test func `the milestones are the policy's, each with its reward`() {
        #expect(TypedReward.all.map(\.days) == Milestones.typed.counts)
        #expect(TypedReward.all.map(\.coins) == [10, 50, 100, 500, 1_000, 5_000, 20_000])
        #expect(TypedReward.all.map(\.xp) == [30, 100, 200, 500, 750, 2_000, 10_000])
        #expect(TypedReward(days: 7)?.title == "Week Warrior" && TypedReward(days: 8) == nil)
    }

    @Test func `a good is used for the streaks it is for`() throws {
        #expect(try PowerUp.kind(of: .shield, type: nil) == .checkIn)
        #expect(try PowerUp.kind(of: .insurance, type: "daily_snap") == .dailySnap)
        #expect(try PowerUp.kind(of: .restore, type: "check_in") == .checkIn)
        #expect(try PowerUp.kind(of: .doubleDay, type: nil) == nil)
        let refused: [(StreakGood, String?)] = [
            (.insurance, nil), (.insurance, "check_in"), (.shield, "daily_snap"), (.restore, nil), (.timeMachine, "mutual"),
            (.timeMachine, "team"), (.doubleDay, "daily_snap"), (.restore, "nothing"),
        ]
        for (good, type) in refused {
            let error = #expect(throws: ServiceError.self) { try PowerUp.kind(of: good, type: type) }
            #expect(error?.reason == "VALIDATION_ERROR", "\(good) \(type ?? "-")")
        }
    }

    @Test func `a calendar's files are those of their formats`() throws {
        let type = try #require(TypedType(.recipeCreation))
        let first = try #require(CalendarDate("2026-01-31"))
        let days = ["complete", "none", "missed"].enumerated().map { CalendarFile.Day(first.advanced(by: $0.offset), $0.element) }
        let file = CalendarFile(type, days)
        #expect(
            file.csv == "type,date,mark\r\nrecipe_creation,2026-01-31,complete\r\nrecipe_creation,2026-02-01,none\r\n"
                + "recipe_creation,2026-02-02,missed\r\n"
        )
        let now = try #require(Instant(rfc3339: "2026-02-02T10:11:12.5Z"))
        let text = file.iCalendar(owner: "0195b3a4-0000-7000-8000-000000000001", now: now)
        let lines = text.components(separated: "\r\n")
        #expect(lines.first == "BEGIN:VCALENDAR" && lines.suffix(2) == ["END:VCALENDAR", ""])
        #expect(lines.filter { $0 == "BEGIN:VEVENT" }.count == 2, "the date of which nothing became has no event")
        #expect(lines.contains("DTSTART;VALUE=DATE:20260131") && lines.contains("DTEND;VALUE=DATE:20260201"))
        #expect(lines.contains("DTSTAMP:20260202T101112Z"))
        #expect(lines.allSatisfy { $0.utf8.count <= 75 })
    }
}

extension String {
    fileprivate func components(separated mark: String) -> [String] {
        split(separator: mark, omittingEmptySubsequences: false).map(String.init)
    }
}
