public import Database

/// The tables of the outbox and inbox, for a service's list of migrations.
public enum OutboxMigrations {
    /// In order.
    public static let all: [Migration] = [
        Migration(version: 1, name: "outbox_and_inbox", sql: PackageResources.V0001_outbox_and_inbox_sql),
        Migration(version: 2, name: "replay_and_hearing", sql: PackageResources.V0002_replay_and_hearing_sql),
        Migration(version: 3, name: "stream_position", sql: PackageResources.V0003_stream_position_sql),
        Migration(version: 4, name: "published_by_position", sql: PackageResources.V0004_published_by_position_sql),
    ]
}
