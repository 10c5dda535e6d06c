import Bus
import Database
import ServiceRuntime
import TestingAPI

/// Guests sign; each signature is emitted.
enum EntriesFeature {
    static let sign = Method<GreetRequest, GreetReply>(service: "testing", version: "v1", name: "Sign", isIdempotent: false)

    static let feature = ServiceFeature(
        "entries",
        migrations: [
            MigrationSet(
                "entries",
                [
                    Migration(
                        version: 1,
                        name: "entries",
                        sql: "CREATE TABLE entry (name text PRIMARY KEY, signed_at timestamptz NOT NULL)"
                    )
                ]
            )
        ],
        personalData: [PersonalData(impersonal: ["entry": "names of tests"])]
    ) { environment in
        FeatureParts(endpoints: [Endpoint(sign, Sign(mutations: environment.mutations))])
    }
}

/// Writes a guest's name down, once.
struct Sign: MutationHandler {
    let mutations: Mutations

    func handle(_ request: GreetRequest, _ context: CallContext) async throws -> Once<GreetReply> {
        try await mutations.once(context, request) { work in
            _ = try await work.sql.execute("INSERT INTO entry VALUES (\(request.name), \(work.now))")
            try await work.emit(ThingHappened(thingID: request.name, at: work.now))
            return GreetReply(greeting: "Welcome, \(request.name).")
        }
    }
}
