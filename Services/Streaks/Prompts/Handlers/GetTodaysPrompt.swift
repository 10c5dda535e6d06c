internal import Bus
internal import Kernel
internal import Replicas
internal import StreaksAPI
internal import StreaksDomain

/// The prompt of the UTC date, and the window of the user's own clock (PW-1, PW-2).
struct GetTodaysPrompt: QueryHandler {
    let prompts: PromptsOfStreaks
    let profiles: ProfileReplica
    let clock: any Clock

    func handle(_ request: GetTodaysPromptRequest, _ context: CallContext) async throws -> TodaysPrompt {
        let user = try context.requireUser()
        let now = clock.now()
        let date = Zone.utc.date(at: now)
        var reply = Self.builtIn(date)
        if let id = request.streakID, let own = try await prompts.find(id, for: user), own.isActive {
            let (number, entry) = own.prompts.entry(of: date)
            reply.id = PromptName.custom(number)
            reply.text = entry.text
            reply.category = .custom
            reply.emoji = entry.emoji ?? CustomPrompts.defaultEmoji
        }
        let profile = try await profiles.profile(user, context: context)
        let window = StreaksDomain.SnapWindow.current(
            startHour: profile?.windowStartHour ?? StreaksDomain.SnapWindow.defaultStartHour,
            in: profile?.zone ?? .utc,
            at: now
        )
        reply.window = StreaksAPI.SnapWindow(
            opensAt: window.opensAt,
            closesAt: window.closesAt,
            isOpen: window.isOpen(at: now),
            secondsLeft: Int32(clamping: window.secondsLeft(at: now))
        )
        return reply
    }

    private static func builtIn(_ date: CalendarDate) -> TodaysPrompt {
        let prompt = DailyPrompt.of(date)
        return TodaysPrompt(
            id: prompt.id,
            text: prompt.text,
            category: PromptCategory(prompt.category),
            emoji: prompt.emoji,
            date: date
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
