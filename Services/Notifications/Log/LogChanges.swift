internal import Kernel
internal import NotificationsAPI
internal import NotificationsCore
internal import Outbox

extension LiveEvents {
    /// Marks entries of a user as read, and sends open apps the new count when one was unread.
    ///
    /// - Parameter ids: nil for all.
    func markRead(_ ids: [NotificationID]?, of user: UserID, _ log: NotificationRepository, _ work: UnitOfWork) async throws
        -> MarkReadReply
    {
        var marked = 0
        let unread = try await changeLog(of: user, log, work) {
            marked = try await NotificationRepository.markRead(ids, of: user, now: work.now, work.sql)
            return marked > 0 ? [] : nil
        }
        return MarkReadReply(marked: Int32(clamping: marked), unreadCount: unread)
    }
}
