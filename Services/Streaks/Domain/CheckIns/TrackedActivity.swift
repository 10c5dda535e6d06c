/// What can count as a day's check-in (CI-1). The raw values are those of the wire and of SQL.
public enum TrackedActivity: String, CaseIterable, Hashable, Sendable {
    /// The whole flow: mood and energy, by `POST /api/mobile/streaks/check-in`.
    case dailyCheckIn = "daily_check_in"
    /// A check-in in a circle.
    case circleCheckIn = "circle_checkin"
    case weightLog = "weight_log"
    case stepsLog = "steps_log"
    /// Mood and energy.
    case moodLog = "mood_log"

    /// Steps that always are enough.
    public static let enoughSteps: Int32 = 10_000

    /// Which of them a report is.
    ///
    /// - Parameters:
    ///   - stepsGoal: the person's own; what is above `enoughSteps` counts as that.
    public static func all(
        mood: Int32?,
        energy: Int32?,
        weight: Double?,
        steps: Int32?,
        stepsGoal: Int32?
    ) -> [TrackedActivity] {
        var found: [TrackedActivity] = []
        if weight != nil { found.append(.weightLog) }
        if let steps, steps >= min(stepsGoal ?? enoughSteps, enoughSteps) { found.append(.stepsLog) }
        if mood != nil, energy != nil { found.append(.moodLog) }
        return found
    }
}
