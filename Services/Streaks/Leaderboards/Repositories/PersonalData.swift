internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// Who has looked at leaderboards.
    static let leaderboards = PersonalData(
        [
            PersonalTable(
                "leaderboard_view",
                users: ["user_id": .delete],
                growth: .bounded("one for each week; for some weeks"),
                exports: [PersonalExport("leaderboard_views", ["week"]) { "user_id = \($0)" }]
            )
        ],
        impersonal: ["board_change": "ids of streaks, for five minutes"]
    )
}
