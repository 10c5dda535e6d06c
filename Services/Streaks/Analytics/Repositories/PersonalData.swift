internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// The figures name no user. Only the marks that a user's change to premium and first purchase were counted do.
    static let analytics = PersonalData(
        [
            PersonalTable(
                "analytics_subscriber",
                users: ["user_id": .delete],
                exports: [PersonalExport("analytics_subscriber", ["is_premium"]) { "user_id = \($0)" }]
            ),
            PersonalTable(
                "analytics_buyer",
                users: ["user_id": .delete],
                exports: [PersonalExport("analytics_purchases", ["item"]) { "user_id = \($0)" }]
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
