import SampleNameAPI
import ServiceKit

/// Greets users.
enum GreetingsFeature {
    /// Whose events it consumes is in `deploy/services.json` too: there the service gets the right to read them.
    static let feature = ServiceFeature(
        "greetings",
        migrations: [
            MigrationSet("greetings", [Migration(version: 1, name: "visitors", sql: PackageResources.V0001_visitors_sql)])
        ],
        personalData: [.visitors]
    ) { environment in
        let visitors = VisitorRepository()
        return FeatureParts(
            endpoints: GreetingsService.endpoints(greet: Greet(visitors: visitors, mutations: environment.mutations)),
            consumers: ProfileConsumers(visitors: visitors).handlers
        )
    }
}
