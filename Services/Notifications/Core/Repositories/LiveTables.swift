package import Database
internal import Kernel
package import ServiceRuntime

/// The tables of the events for open apps.
package enum LiveTables {
    package static var migrations: MigrationSet {
        MigrationSet("live", [Migration(version: 1, name: "live", sql: PackageResources.V0001_live_sql)])
    }

    /// Nothing of them is exported: they repeat for minutes what other tables hold.
    package static let personalData = PersonalData([
        PersonalTable("live_event", users: ["user_id": .delete], growth: .bounded("for minutes")),
        PersonalTable("live_user", users: ["user_id": .delete], growth: .perUser),
    ])
}
