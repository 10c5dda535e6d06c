/// What a count of the check-in streak is celebrated with (CI-5): each once per user.
public struct CelebratedCheckIn: Hashable, Sendable {
    /// The count.
    public let days: Int
    public let title: String
    /// One sentence when it is reached.
    public let message: String
    public let xp: Int
    public let coins: Int
    public let badges: [String]
    /// The engine's to give (`StreakPolicy.checkIn`); here to be shown.
    public let freezes: Int
    public let unlocks: [String]
    /// What it brings, in words.
    public let preview: String

    /// `day_7`.
    public var type: String { "day_\(days)" }
    /// What it asks for.
    public var description: String { "Complete \(days) consecutive days" + (days == 365 ? " (1 year)" : "") }

    /// All of them, ascending.
    public static let all: [CelebratedCheckIn] = [
        CelebratedCheckIn(3, "Getting Started", "3 days in a row!", 30, 10, "getting_started", 0, [], "30 XP"),
        CelebratedCheckIn(
            7,
            "Week Warrior",
            "7 day streak! You're 3.6x more likely to hit your 90-day goal!",
            100,
            50,
            "week_warrior",
            1,
            [],
            "1 Streak Freeze"
        ),
        CelebratedCheckIn(14, "Fortnight Champion", "2 week streak!", 200, 100, "fortnight_champion", 1, [], "1 Streak Freeze"),
        CelebratedCheckIn(21, "Three Weeks Strong", "3 week streak!", 300, 0, "three_weeks_strong", 1, [], "1 Streak Freeze"),
        CelebratedCheckIn(
            30,
            "Monthly Master",
            "30 days! You're a legend!",
            500,
            500,
            "monthly_master",
            2,
            ["avatar_frame_gold"],
            "Unlock Gold Avatar Frame"
        ),
        CelebratedCheckIn(
            50,
            "Halfway to 100",
            "50 days! Unstoppable!",
            750,
            1000,
            "halfway_hero",
            1,
            ["flame_color_gold"],
            "Unlock Gold Flame 🔥"
        ),
        CelebratedCheckIn(
            100,
            "Centurion",
            "100 day centurion!",
            2000,
            5000,
            "centurion",
            3,
            ["flame_color_diamond", "celebration_video"],
            "Unlock Diamond Flame 💎"
        ),
        CelebratedCheckIn(
            180,
            "Diamond Tier",
            "180 days! Half a year!",
            4000,
            0,
            "diamond_tier",
            3,
            ["flame_rainbow"],
            "Unlock Rainbow Flame 🌈"
        ),
        CelebratedCheckIn(
            365,
            "Annual Legend",
            "1 year streak! Elite status!",
            10000,
            20000,
            "annual_legend",
            5,
            ["hall_of_fame", "lifetime_pro", "physical_medal"],
            "Hall of Fame and Lifetime Pro 👑"
        ),
    ]

    private init(
        _ days: Int,
        _ title: String,
        _ message: String,
        _ xp: Int,
        _ coins: Int,
        _ badge: String,
        _ freezes: Int,
        _ unlocks: [String],
        _ preview: String
    ) {
        (self.days, self.title, self.message, self.xp, self.coins) = (days, title, message, xp, coins)
        (self.badges, self.freezes, self.unlocks, self.preview) = ([badge], freezes, unlocks, preview)
    }

    /// The one of this count; nil when it is none.
    public static func of(_ count: Int) -> CelebratedCheckIn? { all.first { $0.days == count } }

    /// How far a count is on the way to it, in percent with one decimal, at most 100.
    public func progress(at count: Int) -> Double {
        Double((min(max(count, 0), days) * 2000 + days) / (2 * days)) / 10
    }
}
