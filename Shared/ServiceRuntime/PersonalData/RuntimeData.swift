extension PersonalData {
    /// The tables of outbox, inbox, migrations and stored replies, which every service has.
    static let runtime = PersonalData(
        [
            PersonalTable(
                "stored_reply",
                users: ["user_id": .delete],
                growth: .bounded("one for each change with a key, at the rate of requests (`http.user-rate`); for a day")
            )
        ],
        impersonal: [
            "outbox": "events, deleted 7 days after they were published",
            "outbox_lease": "which replica relays",
            "outbox_stream": "the stream that has what was published",
            "inbox": "which events were consumed",
            "event_retry": "events that are tried again",
            "consumer_lease": "which replica consumes",
            "schema_migrations": "which tables there are",
        ]
    )
}
