internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// The figures name no user. Only the marks that a user's change to premium, first purchase, and activity for a date were counted do.
    static let analytics = PersonalData(
        [
            PersonalTable(
                "analytics_subscriber",
                users: ["user_id": .delete],
                growth: .perUser,
                exports: [PersonalExport("analytics_subscriber", ["is_premium"]) { "user_id = \($0)" }]
            ),
            PersonalTable(
                "analytics_buyer",
                users: ["user_id": .delete],
                growth: .bounded("one for each item of the catalogue"),
                exports: [PersonalExport("analytics_purchases", ["item"]) { "user_id = \($0)" }]
            ),
            // Seconds later they are counted, and in the next table.
            PersonalTable(
                "analytics_activity",
                users: ["user_id": .delete],
                growth: .bounded("by date and kind, until they are counted")
            ),
            PersonalTable(
                "analytics_active_user",
                users: ["user_id": .delete],
                growth: .bounded("one for each of 31 dates"),
                exports: [PersonalExport("analytics_active_dates", ["day"]) { "user_id = \($0)" }]
            ),
        ],
        impersonal: [
            "analytics_fact": "what is to be added to the figures: ids of streaks, for seconds",
            "analytics_streak": "ids of streaks with their counts",
            "analytics_run": "ids of streaks with the dates of their runs",
            "analytics_daily": "sums by day", "analytics_sale": "sums by day and item",
        ]
    )
}
