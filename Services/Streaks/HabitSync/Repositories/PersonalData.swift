internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// What devices have sent is in the habits; answers and devices go with the account.
    static let habitSync = PersonalData([
        PersonalTable(
            "habit_sync_change",
            users: ["user_id": .delete],
            growth: .bounded("the newest 20,000, for 400 days"),
            references: ["change_id", "entity_id", "merged_into"]
        ),
        PersonalTable(
            "habit_sync_device",
            users: ["user_id": .delete],
            growth: .bounded("the newest 50"),
            references: ["device_id"],
            exports: [
                PersonalExport("habit_devices", ["device_id", "last_synced_on", "seen_at"]) { "user_id = \($0)" }
            ]
        ),
    ])
}
