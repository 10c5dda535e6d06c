public import Kernel

extension NotificationKind {
    /// What an entry says at an instant: it offers only what would succeed then (NO-5).
    ///
    /// - Parameters:
    ///   - stored: as they were written.
    ///   - deadline: until when its reader can do what it offers or asks for; nil: it does neither, or it is not known.
    ///   - isUndone: the break that it is about was undone.
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
        default: break
        }
        return values
    }
}
