internal import BillingAPI
internal import BillingDomain
internal import Kernel
internal import Outbox
internal import StreaksAPI

/// RC-1: both users earn a token each time their streak reaches a multiple of 30.
enum TokenEarnedConsumer {
    static func handler(_ ledger: LedgerRepository) -> EventHandler {
        EventHandler(RecoveryTokenEarned.self) { event, work in
            // In the order of their ids, so that two streaks of the same two people cannot deadlock.
            for user in [event.userAID, event.userBID].sorted() {
                let posting = Posting(
                    user: user,
                    type: .earned,
                    amount: 1,
                    against: .earnings,
                    streak: event.streakID,
                    note: "\(event.count)-day streak",
                    key: "earned \(event.streakID) \(event.runStart) \(event.count)"
                )
                try await work.post(posting, ledger)
            }
        }
    }
}
