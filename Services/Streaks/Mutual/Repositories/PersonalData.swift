internal import ServiceRuntime

extension PersonalData {
    /// What mutual streaks have besides the store. The recoveries that came about are exported with the streaks.
    static let mutual = PersonalData(
        [
            PersonalTable(
                "recovery_operation",
                users: ["user_id": .delete],
                growth: .bounded("one for each try at a broken streak; for some days"),
                references: ["id", "streak_id"]
            )
        ],
        impersonal: [
            "mutual_streak": "which friendship a streak is of: ids of both",
            "refused_start": "friendships whose streak could not start",
            "ended_friendship": "friendships that are over, for a day",
        ]
    )
}
