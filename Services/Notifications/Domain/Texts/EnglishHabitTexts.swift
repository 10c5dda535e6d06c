/// The texts about habits (HA-5, HA-11, HA-18).
extension EnglishTexts {
    /// nil: a kind, or a wording of it, that is not about habits.
    static func habitText(_ kind: NotificationKind, _ values: NotificationValues) -> NotificationText? {
        switch (kind, values.wording) {
        case (.habitReminder, Wording.habitCompleted): return NotificationText("Great job!", "\(values.subject) completed ✓")
        case (.habitReminder, Wording.habitSnoozed): return NotificationText(values.subject, "Reminder snoozed for 1 hour")
        case (.habitReminder, _): return NotificationText(values.subject, "Time to complete your habit!")
        case (.streakReminder, _):
            return NotificationText(
                "Don't break your streak!",
                "You have \(counted(values.amount, "habit", "habits")) left to complete today"
            )
        case (.milestone, Wording.habitDays), (.milestone, Wording.habitWeeks):
            let unit = values.wording == Wording.habitWeeks ? "week" : "day"
            return NotificationText(
                "🎉 Congratulations!",
                "You've reached a \(values.count) \(unit) streak for \(values.subject)!"
            )
        case (.motivation, _):
            let (title, body) = motivations[Int(values.count.magnitude) % motivations.count]
            return NotificationText(title, body)
        default: return nil
        }
    }

    /// In the order in which they are sent. As many in each language.
    private static let motivations = [
        ("Small steps lead to big changes", "Choose one habit and take today's step."),
        ("You're building something great", "Every day on which you do it makes it stronger."),
        ("Consistency is key", "One more day, and your streaks grow."),
        ("Progress, not perfection", "A little today is better than a lot some other day."),
        ("Start where you are", "Do what you can with what you have."),
        ("The best time is now", "Your habits for today are ready."),
        ("You become what you repeat", "Repeat something good today."),
        ("Keep going", "You have come further than you think."),
        ("One check mark makes a start", "Which habit will be the first today?"),
        ("Be proud of what you have done", "Then do the next thing."),
    ]
    static var motivationCount: Int { motivations.count }
}
