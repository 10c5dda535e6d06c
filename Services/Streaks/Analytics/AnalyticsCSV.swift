internal import Kernel
internal import StreaksAPI

/// The figures by date and type as RFC 4180 text. The names of the columns are those of the JSON. Cells are dates, numbers and the names of
/// types: nothing needs quotes, and nothing begins as a formula of a spreadsheet does.
enum AnalyticsCSV {
    private typealias Column = (name: String, value: @Sendable (StreakAnalyticsDay) -> String)

    private static let counts: [(String, @Sendable (StreakAnalyticsDay) -> Int64)] = [
        ("active", { $0.active }), ("started", { $0.started }), ("runs_started", { $0.runsStarted }),
        ("extended", { $0.extended }),
        ("broken", { $0.broken }), ("broken_at_7", { $0.brokenAt7 }), ("broken_missed", { $0.brokenMissed }),
        ("broken_moderation", { $0.brokenModeration }), ("restored", { $0.restored }),
        ("restored_by_repair", { $0.restoredByRepair }), ("restored_by_fill", { $0.restoredByFill }),
        ("restored_by_freeze", { $0.restoredByFreeze }), ("restored_late", { $0.restoredLate }),
        ("freezes_used", { $0.freezesUsed }), ("freezes_by_hand", { $0.freezesByHand }), ("freezes_earned", { $0.freezesEarned }),
        ("pauses", { $0.pauses }), ("protections_used", { $0.protectionsUsed }), ("conversions", { $0.conversions }),
        ("conversions_at_7", { $0.conversionsAt7 }), ("conversions_at_30", { $0.conversionsAt30 }), ("running", { $0.running }),
        ("running_at_7", { $0.runningAt7 }), ("running_at_30", { $0.runningAt30 }), ("running_at_100", { $0.runningAt100 }),
        ("updated", { $0.updated }), ("streaks", { $0.streaks }), ("broken_missed_by_both", { $0.brokenMissedByBoth }),
        ("tokens_used", { $0.tokensUsed }), ("tokens_earned", { $0.tokensEarned }), ("cards_shared", { $0.cardsShared }),
    ]

    private static let shares: [(String, @Sendable (StreakAnalyticsDay) -> Double?)] = [
        ("average_streak", { $0.averageStreak }), ("share_at_7", { $0.shareAt7 }), ("share_at_30", { $0.shareAt30 }),
        ("share_at_100", { $0.shareAt100 }), ("update_rate", { $0.updateRate }), ("completion_rate", { $0.completionRate }),
    ]

    static func text(_ days: [StreakAnalyticsDay]) -> String {
        // Milestones and ranges of lengths, as far as any day has them.
        let milestones = Set(days.flatMap { $0.milestones.map(\.count) }).sorted()
        let ranges = Set(days.flatMap { $0.longest.map(\.from) }).sorted()
        var columns: [Column] = [("date", { $0.date.description }), ("type", { $0.type })]
        columns += counts.map { name, value in (name, { String(value($0)) }) }
        columns += shares.map { name, value in (name, { value($0).map { String($0) } ?? "" }) }
        columns += milestones.map { count in
            ("milestone_\(count)", { day in String(day.milestones.first { $0.count == count }?.reached ?? 0) })
        }
        columns += ranges.map { from in
            ("longest_from_\(from)", { day in String(day.longest.first { $0.from == from }?.streaks ?? 0) })
        }
        let lines = [columns.map(\.name)] + days.map { day in columns.map { $0.value(day) } }
        return lines.map { $0.joined(separator: ",") + "\r\n" }.joined()
    }
}
