public import Kernel

extension NotificationKind {
    /// What an entry says at an instant: the time that is left then, and only what would succeed then (NO-5).
    ///
    /// - Parameters:
    ///   - stored: as they were written.
    ///   - deadline: until when its reader can do what it offers or asks for; nil: it does neither, or it is not known.
    ///   - isUndone: the break that it is about was undone.
    /// - Returns: of what is over `amount` is 0, where it is the time that is left.
    public func values(
        _ stored: NotificationValues,
        deadline: Instant?,
        isUndone: Bool,
        at now: Instant
    ) -> NotificationValues {
        var values = stored
        let isOver = isUndone || deadline.map { $0 <= now } ?? false
        switch (self, stored.wording) {
        case (.streakBroken, 0), (.streakBroken, Wording.hasNoToken):
            if isOver { values.wording = Wording.isFinal }
        case (.teamBroken, Wording.teamSavable) where isOver: values.wording = 0
        case (.streakAtRisk, _), (.teamAtRisk, _), (.repairOffer, _), (.teamBroken, Wording.teamSavable):
            values.amount = isOver ? 0 : deadline.map { Self.hours(until: $0, now) } ?? stored.amount
        case (.windowClosing, _):
            values.amount = isOver ? 0 : deadline.map { Self.minutes(until: $0, now) } ?? stored.amount
        default: break
        }
        return values
    }

    /// Rounded, at least one.
    public static func hours(until end: Instant, _ now: Instant) -> Int32 {
        max(1, Int32(clamping: ((end - now).seconds + 1_800) / 3_600))
    }

    /// Rounded, at least one; to five from ten on, as people say it.
    public static func minutes(until end: Instant, _ now: Instant) -> Int32 {
        let seconds = (end - now).seconds
        return max(1, Int32(clamping: seconds < 570 ? (seconds + 30) / 60 : (seconds + 150) / 300 * 5))
    }
}
