internal import BillingMoney
internal import Database
internal import Runtime
internal import ServiceRuntime

/// What an operator does besides running the service.
public enum BillingCommands {
    /// Has one stored event of RevenueCat, or all, applied again by the running replicas. What was applied before changes nothing.
    ///
    /// - Parameter event: its id; nil for all.
    /// - Returns: what was done, for the operator.
    /// - Throws: `Settings.Invalid` when there is no such event; `DatabaseError`.
    public static func replay(_ event: String?, databaseURL: String) async throws -> String {
        let count = try await CommandDatabase.open(schema: BillingModule.name, url: databaseURL) { database in
            try await MoneyFeature.replay(event, database)
        }
        if let event, count == 0 { throw Settings.Invalid("No event that was dealt with has the id \(event).") }
        return "to be applied again: \(count)"
    }
}
