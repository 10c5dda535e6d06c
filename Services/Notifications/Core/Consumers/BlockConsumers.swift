internal import Kernel
internal import Outbox
internal import SocialAPI

/// A block hides entries of the log and its end shows them again (SO-7): open apps get the new number of unread ones (NO-7).
struct BlockConsumers: Sendable {
    let log: NotificationRepository
    let live: LiveEvents

    /// To be handled after the replica's own, in the same transaction.
    var all: [EventHandler] {
        [
            EventHandler(UserBlocked.self) { event, work in
                if let block = event.block { try await recount(block.blockerID, block.blockedID, work) }
            },
            EventHandler(UserUnblocked.self) { event, work in
                if let block = event.block { try await recount(block.blockerID, block.blockedID, work) }
            },
        ]
    }

    /// In the order of their ids, so that no two transactions wait for each other. Who has nothing unread about the other sees nothing change,
    /// and is sent nothing: a block is not to be noticed.
    private func recount(_ one: UserID, _ two: UserID, _ work: UnitOfWork) async throws {
        for (reader, other) in [(min(one, two), max(one, two)), (max(one, two), min(one, two))] {
            _ = try await live.changeLog(of: reader, log, work) {
                try await NotificationRepository.hasUnread(of: reader, about: other, work.sql) ? [] : nil
            }
        }
    }
}
