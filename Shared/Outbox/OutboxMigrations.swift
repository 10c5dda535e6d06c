public import Database

/// The tables of the outbox and inbox, for a service's list of migrations.
public enum OutboxMigrations {
    /// In order.
    public static let all: [Migration] = [
        Migration(version: 1, name: "outbox_and_inbox", sql: PackageResources.V0001_outbox_and_inbox_sql),
        Migration(version: 2, name: "presence", sql: PackageResources.V0002_presence_sql),
        Migration(version: 3, name: "protection", sql: PackageResources.V0003_protection_sql),
        Migration(version: 4, name: "outbox_stream", sql: PackageResources.V0004_outbox_stream_sql),
    ]
}
