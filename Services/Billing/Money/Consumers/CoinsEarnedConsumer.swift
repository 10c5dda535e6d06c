internal import BillingAPI
internal import BillingDomain
internal import Kernel
internal import Outbox
internal import StreaksAPI

/// TS-2, CI-5: coins that streaks earn, posted once for each key.
enum CoinsEarnedConsumer {
    static func handler(_ ledger: LedgerRepository) -> EventHandler {
        EventHandler(CoinsEarned.self) { event, work in
            let posting = Posting(
                user: event.userID,
                currency: .coins,
                type: .earned,
                amount: event.amount,
                against: .earnings,
                note: note(event.cause),
                key: "coins \(event.key)"
            )
            try await work.post(posting, ledger)
        }
    }

    private static func note(_ cause: String) -> String {
        switch cause {
        case "typed_day": "A day of a streak"
        case "typed_milestone", "check_in_milestone": "A milestone of a streak"
        case "repair_refund": "A repair that was not needed"
        default: "Earned"
        }
    }
}
