internal import BillingAPI
internal import Outbox

/// How many recovery tokens users have (D13). An older version never overwrites a newer one.
enum BalanceConsumers {
    static let all: [EventHandler] = [
        EventHandler(RecoveryBalanceChanged.self) { event, work in
            _ = try await BalanceRepository.store(event.balance, version: event.version, of: event.userID, work.sql)
        }
    ]
}
