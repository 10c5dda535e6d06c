internal import AuthAPI
public import Bus
public import CommonAPI
internal import Kernel
internal import Outbox

/// What the runtime does for every service with data of users: the export is answered, the erasure is done and the largest users are measured by
/// every replica, whichever features it runs.
enum PersonalDataFeature {
    /// The feature's name, also of its durable consumer and in the table of rights on the bus.
    static let name = "personal-data"

    /// The feature; nil for a service without data of users.
    static func feature(service: String, _ features: [ServiceFeature], _ declared: [PersonalData]) -> ServiceFeature? {
        guard features.contains(where: { !$0.personalData.isEmpty }) else { return nil }
        return ServiceFeature(name, isAlwaysLoaded: true) { environment in
            let eraser = try PersonalDataEraser(declared, environment)
            let exporter = PersonalDataExporter(declared, environment)
            let purge = EventHandler(AccountPurged.self) { event, work in
                try await eraser.erase(event.userID, work)
            }
            return FeatureParts(
                endpoints: [
                    Endpoint(PersonalDataMethods.export(of: service)) { request, _ in try await exporter.page(request) }
                ],
                // The service that emits the event erases in that transaction.
                consumers: purge.source == service ? [] : [purge],
                jobs: [LargestUsers(declared.flatMap(\.tables).flatMap(\.quotas), environment).job]
            )
        }
    }
}

/// The methods on personal data that the runtime of every service answers.
public enum PersonalDataMethods {
    /// One page of what a service holds about a user (AU-10).
    public static func export(of service: String) -> Method<ExportPersonalDataRequest, ExportPersonalDataReply> {
        Method(service: service, version: "v1", name: "ExportPersonalData", isIdempotent: true)
    }
}
