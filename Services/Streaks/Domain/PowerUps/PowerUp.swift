public import Kernel

/// How goods are shown and used (TS-3).
public enum PowerUp {
    /// How long an insurance holds.
    public static let insuranceLength = Interval.days(7)
    /// How many dates ahead a double day may be set.
    public static let doubleDayReach = 7
    /// When a double day that did not help comes back: late activities still arrive for a while (SD-2).
    public static let doubleDayWait = Interval.hours(12)

    /// In the order to show them.
    public static let order: [StreakGood] = [
        .freeze, .repair, .restore, .insurance, .shield, .timeMachine, .doubleDay, .boosterOfXP,
    ]

    public static func title(_ good: StreakGood) -> String {
        switch good {
        case .freeze: "Streak freeze"
        case .repair: "Streak repair"
        case .restore: "Streak restore"
        case .insurance: "Streak insurance"
        case .shield: "Streak shield"
        case .timeMachine: "Time machine"
        case .doubleDay: "Double day"
        case .boosterOfXP: "XP booster"
        }
    }

    /// Whether it helps only after its owner has used it.
    ///
    /// - Parameter armsShields: whether a shield protects from its purchase on.
    public static func needsUse(_ good: StreakGood, armsShields: Bool) -> Bool {
        switch good {
        case .freeze: false
        case .shield: !armsShields
        case .repair, .restore, .insurance, .timeMachine, .doubleDay, .boosterOfXP: true
        }
    }

    /// What it does, in one sentence.
    ///
    /// - Parameter armsShields: as for `needsUse`.
    public static func text(_ good: StreakGood, armsShields: Bool) -> String {
        switch good {
        case .freeze: "Keeps a missed date of your check-in streak."
        case .repair: "Repairs your check-in streak within a day of its break."
        case .restore: "Brings a broken streak back within a day of its break."
        case .insurance: "Undoes a break of one typed streak within 7 days, once; a streak can be insured once in 7 days."
        case .shield:
            armsShields
                ? "Covers the next break of your check-in streak, from its purchase or your next check-in on."
                : "Covers the next break of your check-in streak once you have used it."
        case .timeMachine: "Fills one missed date of the last 7 days."
        case .doubleDay: "Twice the coins for a day."
        case .boosterOfXP: "Half as many XP again for 7 days."
        }
    }

    /// The kinds of streaks of which its user names one; empty when there is nothing to name.
    public static func streaks(of good: StreakGood) -> [StreakKind] {
        switch good {
        case .insurance: StreakKind.typed
        case .restore, .timeMachine: StreakKind.solo
        case .freeze, .repair, .shield, .doubleDay, .boosterOfXP: []
        }
    }

    /// The streak that a good is used for.
    ///
    /// - Parameter type: what the user has named; nil: nothing.
    /// - Returns: nil for goods that belong to no streak.
    /// - Throws: `VALIDATION_ERROR` naming `type`.
    public static func kind(of good: StreakGood, type: String?) throws(ServiceError) -> StreakKind? {
        let named = type.flatMap { StreakKind(typeName: $0) }
        guard named?.isSolo ?? (type == nil) else { throw .validation(field: "type", "is no streak of one person") }
        switch good {
        case .freeze, .repair, .shield:
            guard named == nil || named == .checkIn else { throw .validation(field: "type", "must be check_in or absent") }
            return .checkIn
        case .insurance:
            guard let named, StreakKind.typed.contains(named) else {
                throw .validation(field: "type", "must name a typed streak")
            }
            return named
        case .restore, .timeMachine:
            guard let named else { throw .validation(field: "type", "must name a streak") }
            return named
        case .doubleDay, .boosterOfXP:
            guard type == nil else { throw .validation(field: "type", "must be absent") }
            return nil
        }
    }
}
