internal import Bus
internal import Kernel
internal import Outbox
internal import StreaksAPI
internal import StreaksDomain

extension StreaksService {
    /// PW-1, PW-2: the prompt of the UTC date, the window of the user's own clock.
    func getTodaysPrompt(_: GetTodaysPromptRequest, context: CallContext) async throws -> TodaysPrompt {
        let user = try context.requireUser()
        let now = clock.now()
        let date = Zone.utc.date(at: now)
        let prompt = DailyPrompt.of(date)
        let zone = try await profiles.profile(user, context: context)?.zone ?? .utc
        let window = StreaksDomain.SnapWindow.current(
            startHour: StreaksDomain.SnapWindow.defaultStartHour,
            in: zone,
            at: now
        )
        return TodaysPrompt(
            id: prompt.id,
            text: prompt.text,
            category: PromptCategory(prompt.category),
            emoji: prompt.emoji,
            date: date.description,
            window: StreaksAPI.SnapWindow(
                opensAt: window.opensAt,
                closesAt: window.closesAt,
                isOpen: window.isOpen(at: now),
                secondsLeft: Int32(clamping: window.secondsLeft(at: now))
            )
        )
    }

    /// PW-3, by the author's own clock.
    func isOnTime(_ user: UserID, _ capturedAt: Instant, _ work: UnitOfWork) async throws -> Bool {
        let zone = try await ZoneRepository.histories(of: [user], work.sql)[user]?.zone(at: capturedAt) ?? .utc
        return StreaksDomain.SnapWindow.isOnTime(
            capturedAt,
            startHour: StreaksDomain.SnapWindow.defaultStartHour,
            in: zone
        )
    }
}

extension PromptCategory {
    init(_ category: DailyPrompt.Category) {
        switch category {
        case .food: self = .food
        case .color: self = .color
        case .view: self = .view
        case .mood: self = .mood
        case .object: self = .object
        case .activity: self = .activity
        }
    }
}
