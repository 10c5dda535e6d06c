public import Database

/// The tables of the outbox and inbox, for a service's list of migrations.
public enum OutboxMigrations {
    /// In order.
    public static let all: [Migration] = [
        Migration(version: 1, name: "outbox_and_inbox", sql: PackageResources.V0001_outbox_and_inbox_sql)
    ]
}
