import Database
import Outbox
import ServiceRuntime
import TestingAPI

/// Counts how often each guest has signed.
enum VisitsFeature {
    static let feature = ServiceFeature(
        "visits",
        migrations: [
            MigrationSet(
                "visits",
                [
                    Migration(
                        version: 1,
                        name: "visits",
                        sql: "CREATE TABLE visits (name text PRIMARY KEY, count integer NOT NULL)"
                    )
                ]
            )
        ],
        personalData: [PersonalData(impersonal: ["visits": "names of tests"])]
    ) { _ in
        FeatureParts(consumers: [
            EventHandler(ThingHappened.self) { event, work in
                _ = try await work.sql.execute(
                    """
                    INSERT INTO visits VALUES (\(event.thingID), 1)
                    ON CONFLICT (name) DO UPDATE SET count = visits.count + 1
                    """
                )
            }
        ])
    }
}
