internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// Mails: which were sent, and where to while they wait.
    static let mail = PersonalData([
        PersonalTable(
            "mail",
            users: ["user_id": .delete],
            growth: .bounded("one for each mail, which auth bounds; for 7 days"),
            references: ["id", "attempt"],
            exports: [
                PersonalExport(
                    "mails",
                    [
                        "id", "kind", "locale", "address", "created_at", "ended_at",
                        .value(
                            "state",
                            "CASE state WHEN 0 THEN 'queued' WHEN 1 THEN 'sent' WHEN 2 THEN 'failed' ELSE 'expired' END"
                        ),
                    ]
                ) { "user_id = \($0)" }
            ]
        )
    ])
}
