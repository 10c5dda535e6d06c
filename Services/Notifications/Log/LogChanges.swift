internal import Kernel
internal import NotificationsAPI
internal import NotificationsCore
internal import Outbox

extension LiveEvents {
    /// Marks entries of a user as read, sends open apps the new count when one was unread, and emits what was opened (TS-5).
    ///
    /// - Parameters:
    ///   - ids: nil for all.
    ///   - areOpened: the user has looked at them; of all at once nothing says so.
    func markRead(
        _ ids: [NotificationID]?,
        of user: UserID,
        areOpened: Bool = true,
        _ log: NotificationRepository,
        _ work: UnitOfWork
    ) async throws -> MarkReadReply {
        var opened: [OpenedEntries] = []
        let unread = try await changeLog(of: user, log, work) {
            opened = try await NotificationRepository.markRead(ids, of: user, now: work.now, work.sql)
            return opened.isEmpty ? nil : []
        }
        if !opened.isEmpty {
            let counts = opened.map { entries in
                OpenedCount(
                    kind: Kind(rawValue: entries.group.kind),
                    date: entries.group.date,
                    opened: entries.opened,
                    pushed: entries.pushed
                )
            }
            let all = ids == nil || !areOpened
            try await work.emit(NotificationOpened(userID: user, openedAt: work.now, counts: counts, all: all))
        }
        return MarkReadReply(marked: opened.reduce(0) { $0 + $1.opened }, unreadCount: unread)
    }
}
