internal import Database
internal import Kernel
internal import Outbox
internal import Replicas
internal import ServiceRuntime

extension PersonalData {
    /// Streaks of every kind. A streak is its other members' too: its dates stay, with a bare id, until all of its members are erased. Others
    /// appear in the export with their ids only, and what they contributed not at all.
    ///
    /// - Parameter extensions: what all features add to the store.
    static func core(_ extensions: StreakExtensions) -> PersonalData {
        PersonalData(
            [streak, member, formerStay, contribution, cover, freeze, pause, protection, checkpoint, zones, plans, purged],
            impersonal: [
                "streak_identity": "what there can be one streak of: deleted when the streak ends, which the erasure does first",
                "outage": "times in which no user could reach the service",
                "zone_data": "which zone data is in use; the id of the last user dealt with while a newer version is taken up",
                "zone_rules": "rules of time zones",
            ]
        ) { environment in steps(StreakWriter(database: environment.database, extensions)) }
    }

    /// What no table can express.
    static func steps(_ writer: StreakWriter) -> ErasureSteps {
        let accounts = AccountConsumers(writer: writer)
        return ErasureSteps(
            before: { user, work in
                // A request that was under way at the deletion may have started a streak since.
                try await accounts.endAll(of: user, work)
                // Before the totals are deleted, so that they are not made again.
                try await PurgedUserRepository.add(user, work)
            },
            after: { user, work in try await PurgedUserRepository.deleteStreaksOfPurgedUsers(with: user, work.sql) }
        )
    }

    private static let kindName: Query = """
        (ARRAY['mutual', 'check_in', 'daily_snap', 'recipe_creation', 'challenge_completion', 'social_share', 'healthy_eating', \
        'team', 'habit'])[streak.kind]
        """

    private static let sharedHistory = Erasure.keep(
        "a streak is its other members' history too; deleted when all of them are erased"
    )

    private static let streak = PersonalTable(
        "streak",
        users: [
            "broken_by": sharedHistory, "broken_off_by": sharedHistory, "ended_with": sharedHistory,
            "members": .erased(by: "the copy of streak_member"),
        ],
        growth: .bounded("one for each kind, each circle, each friendship and each habit; a friendship's again after a break"),
        references: ["id"]
    )

    private static let member = PersonalTable(
        "streak_member",
        users: ["user_id": sharedHistory],
        growth: .bounded("one for each streak"),
        references: ["streak_id"],
        exports: [
            PersonalExport(
                "streaks",
                [
                    .value("id", "streak.id"), .value("kind", kindName),
                    .value("friend_id") { user in
                        """
                        (SELECT f.user_id FROM streak_member f
                         WHERE f.streak_id = streak.id AND streak.kind = 1 AND f.user_id <> \(user) LIMIT 1)
                        """
                    },
                    "joined_at", "left_at", .value("started_at", "streak.started_at"),
                    .value("status", "CASE streak.status WHEN 1 THEN 'active' WHEN 2 THEN 'broken' ELSE 'ended' END"),
                    .value("current_count", "streak.current_count"), .value("longest_count", "streak.longest_count"),
                    .value("last_completed_date", "streak.last_completed_date"), .value("broken_at", "streak.broken_at"),
                    .value("broken_by_you") { "coalesce(streak.broken_by = \($0), false)" },
                    .value("ended_at", "streak.ended_at"),
                ],
                join: "JOIN streak ON streak.id = streak_member.streak_id"
            ) { user in
                // Two partial indexes, one scan of each.
                """
                streak_member.user_id = \(user) AND streak_member.left_at IS NULL
                OR streak_member.user_id = \(user) AND streak_member.left_at IS NOT NULL
                """
            }
        ]
    )

    private static let formerStay = PersonalTable(
        "streak_former_stay",
        users: ["user_id": sharedHistory],
        growth: .bounded("one for each time that the user left a circle and came back: social lets in 100 times a day"),
        references: ["streak_id"],
        exports: [PersonalExport("former_team_stays", ["streak_id", "joined_at", "left_at"]) { "user_id = \($0)" }]
    )

    private static let contribution = PersonalTable(
        "contribution",
        users: ["user_id": sharedHistory],
        growth: .bounded("one for each date of a streak: what keeps a streak is never refused for what is stored"),
        references: ["streak_id", "operation_id"],
        exports: [
            PersonalExport("contributions", ["streak_id", "on_date", "received_at"]) { user in
                "streak_id = ANY(\(PurgedUserRepository.streaks(of: user))) AND user_id = \(user)"
            }
        ]
    )

    private static let cover = PersonalTable(
        "streak_cover",
        users: ["user_id": sharedHistory],
        growth: .bounded("one for each token, shield or insurance that was spent"),
        references: ["streak_id", "operation_id"],
        exports: [
            PersonalExport("recoveries", ["streak_id", "kind", "used_at", "from_date", "through_date", "returned_at"]) { user in
                "streak_id = ANY(\(PurgedUserRepository.streaks(of: user))) AND user_id = \(user)"
            }
        ]
    )

    private static let freeze = PersonalTable(
        "streak_freeze",
        users: [:],
        growth: .bounded("one for each freeze that was earned, bought or spent"),
        references: ["streak_id", "operation_id"],
        exports: [
            PersonalExport("freezes", ["streak_id", "at", "granted", "on_date"]) { user in
                "streak_id = ANY(\(PurgedUserRepository.streaks(of: user)))"
            }
        ]
    )

    private static let pause = PersonalTable(
        "streak_pause",
        users: [:],
        growth: .bounded("1,000 for each habit; one between two check-ins"),
        references: ["streak_id"],
        exports: [
            PersonalExport("pauses", ["streak_id", "paused_at", "from_date", "until_date"]) { user in
                "streak_id = ANY(\(PurgedUserRepository.streaks(of: user)))"
            }
        ]
    )

    private static let protection = PersonalTable(
        "streak_protection",
        users: [:],
        growth: .bounded("one for each shield or insurance that was bought"),
        references: ["streak_id", "operation_id"],
        exports: [
            PersonalExport("protections", ["streak_id", "kind", "held_at", "held_until"]) { user in
                "streak_id = ANY(\(PurgedUserRepository.streaks(of: user)))"
            }
        ]
    )

    private static let plans = PersonalTable(
        "plan_change",
        users: ["user_id": .delete],
        growth: .bounded("one for each change of the plan, which a store reports"),
        exports: [PersonalExport("plans", ["since", "is_premium", "expires_at"]) { "user_id = \($0)" }]
    )

    private static let checkpoint = PersonalTable(
        "streak_checkpoint",
        users: ["broken_by": sharedHistory],
        growth: .bounded("one for each streak"),
        references: ["streak_id", "spent_protections"]
    )

    private static let zones = PersonalTable(
        "zone_change",
        users: ["user_id": .delete],
        growth: .bounded("50,000: auth changes the zone of an account no more often"),
        exports: [PersonalExport("time_zones", ["since", "zone"]) { "user_id = \($0)" }]
    )

    private static let purged = PersonalTable(
        "purged_user",
        users: [
            "user_id": .keep("shows when all members of a streak are erased, and that nothing of the user is to be made again")
        ],
        growth: .perUser
    )
}
