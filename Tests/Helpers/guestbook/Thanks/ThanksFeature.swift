import Database
import Outbox
import ServiceRuntime
import TestingAPI

/// Writes a line of thanks for each signature.
enum ThanksFeature {
    static let feature = ServiceFeature(
        "thanks",
        migrations: [
            MigrationSet("thanks", [Migration(version: 1, name: "thanks", sql: "CREATE TABLE thanks (name text NOT NULL)")])
        ],
        personalData: [PersonalData(impersonal: ["thanks": "names of tests"])]
    ) { _ in
        FeatureParts(consumers: [
            EventHandler(ThingHappened.self) { event, work in
                _ = try await work.sql.execute("INSERT INTO thanks VALUES (\(event.thingID))")
            }
        ])
    }
}
