internal import BillingAPI
internal import Kernel
internal import Outbox
internal import StreaksAPI

/// RC-3, SD-6: a token that was not needed after all is given back to the user who spent it.
enum TokenReturnedConsumer {
    static func handler(_ tokens: TokenOperations) -> EventHandler {
        EventHandler(RecoveryTokenReturned.self) { event, work in
            // Of an account that is gone for good nothing says any more what it was spent on: then nothing comes back.
            _ = try await work.balance(
                after: tokens.refund(
                    event.operationID,
                    to: event.userID,
                    note: "The token was not needed",
                    id: work.ids.make(),
                    now: work.now,
                    work.sql
                ),
                of: event.userID
            )
        }
    }
}
