internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Changes the settings that are sent.
struct UpdateHabitSettings: MutationHandler {
    let changes: HabitChanges

    func handle(_ request: UpdateHabitSettingsRequest, _ context: CallContext) async throws -> Once<HabitAppSettings> {
        let (accent, reminder) = try Self.texts(request)
        return try await changes.once(context, request) { book in
            var settings = book.account.settings
            if let theme = request.theme.flatMap(HabitSettings.Theme.init(rawValue:)) { settings.theme = theme }
            if let accent, accent != settings.accentColor {
                guard book.isPremium || HabitPalette.colors.contains(accent) else {
                    throw ServiceError.premiumHabits("A color of your own")
                }
                settings.accentColor = accent
            }
            if let day = request.firstDayOfWeek { settings.firstDayOfWeek = Int(day) }
            if let haptics = request.hapticFeedbackEnabled { settings.haptics = haptics }
            if let animations = request.animationsEnabled { settings.animations = animations }
            if let onboarded = request.onboardingCompleted { settings.onboarded = onboarded }
            if request.clear.contains("daily_reminder_time") { settings.reminderMinute = nil }
            if let reminder { settings.reminderMinute = reminder }
            try await book.store(settings)
            return HabitAppSettings(settings, backedUpAt: book.account.backedUpAt)
        }
    }

    func problems(of request: UpdateHabitSettingsRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try Self.texts(request) }
    }

    /// - Throws: `VALIDATION_ERROR` with an entry for each bad field.
    private static func texts(_ request: UpdateHabitSettingsRequest) throws -> (accent: String?, reminder: Int?) {
        var check = FieldCheck()
        let accent = try check.take(request.accentColor) { try HabitText.color($0, field: "accent_color") }
        let reminder = try check.take(request.dailyReminderTime) {
            try HabitReminderTime.minute($0, field: "daily_reminder_time")
        }
        try check.finish()
        return (accent, reminder)
    }
}
