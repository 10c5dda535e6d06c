internal import Database

/// The runtime's own tables in every service's schema.
enum RuntimeMigrations {
    static let all: [Migration] = [
        Migration(version: 1, name: "stored_reply", sql: PackageResources.V0001_stored_reply_sql)
    ]
}
