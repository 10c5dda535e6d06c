internal import ServiceRuntime

extension PersonalData {
    /// Who is in which circle: exported by `social`, whose it is.
    static let circles = PersonalData(
        [
            PersonalTable(
                "circle_member_replica",
                users: ["user_id": .delete],
                growth: .bounded("20 circles of a user"),
                references: ["circle_id"]
            )
        ],
        impersonal: [
            "circle_replica": "circles as social reported them; their members have a table of their own",
            "circle_snapshot": "when the circles of before the first event were fetched",
        ]
    )
}
