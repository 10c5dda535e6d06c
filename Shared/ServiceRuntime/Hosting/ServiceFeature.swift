public import Bus
public import Database
public import Outbox
public import Runtime

/// One feature of a service (D14): what one product manager would call a feature, in one target, as one value.
///
/// A service is a list of features. A replica can be started with some of them (`--features mutual,prompts`), so that a hot one scales
/// alone: what it does not load it does not answer, consume or run. Migrations and personal data are always those of all features.
public struct ServiceFeature: Sendable {
    /// `mutual`: lower-case letters and digits, unique in its service. For `--features`, logs, metrics and the names of durable consumers.
    public let name: String
    /// What can be set for it, beyond what every service has.
    public let settings: [any AnySetting]
    /// Its own tables and those of the replicas of facts that it keeps, in order.
    public let migrations: [MigrationSet]
    /// What it holds about users.
    public let personalData: [PersonalData]
    /// Whether a replica has it whatever `--features` says: what the others stand on.
    public let isAlwaysLoaded: Bool
    let assemble: @Sendable (ServiceEnvironment) async throws -> FeatureParts

    /// A feature.
    ///
    /// - Parameter assemble: puts its parts together; nothing is answered, consumed or run before it has returned. It throws
    ///   `Settings.Invalid` for unusable settings.
    public init(
        _ name: String,
        settings: [any AnySetting] = [],
        migrations: [MigrationSet] = [],
        personalData: [PersonalData] = [],
        isAlwaysLoaded: Bool = false,
        assemble: @escaping @Sendable (ServiceEnvironment) async throws -> FeatureParts
    ) {
        self.name = name
        self.settings = settings
        self.migrations = migrations
        self.personalData = personalData
        self.isAlwaysLoaded = isAlwaysLoaded
        self.assemble = assemble
    }
}

/// What a feature answers, consumes and does by itself.
public struct FeatureParts: Sendable {
    /// Its RPCs.
    public var endpoints: [Endpoint]
    /// The events it consumes. Whose they are is in the table of rights on the bus too (`BusPermissions.sources`).
    public var consumers: [EventHandler]
    /// Its time-driven work.
    public var jobs: [Job]
    /// What must be done outside of the database before an event that it has applied protects its user (D21), for all such events that it
    /// has applied until then. The feature's own jobs repeat it: it may fail, and a replica without the feature does not do it.
    public var protection: (@Sendable () async throws -> Void)?
    /// What is waited for before the replica answers requests, once its consumers and jobs run. It sets its own limit.
    public var preparation: (@Sendable () async -> Void)?

    /// A feature's table of contents.
    public init(
        endpoints: [Endpoint] = [],
        consumers: [EventHandler] = [],
        jobs: [Job] = [],
        protection: (@Sendable () async throws -> Void)? = nil,
        preparation: (@Sendable () async -> Void)? = nil
    ) {
        self.endpoints = endpoints
        self.consumers = consumers
        self.jobs = jobs
        self.protection = protection
        self.preparation = preparation
    }
}

extension ServiceSettings {
    /// The features that a replica loads, in the order of the service's list.
    ///
    /// - Throws: `Settings.Invalid` for a name that the service does not have.
    static func loaded(_ features: [ServiceFeature], _ settings: Settings) throws -> [ServiceFeature] {
        let names = Set(try settings.get(Self.features).settingEntries)
        guard !names.isEmpty else { return features }
        if let unknown = names.subtracting(features.map(\.name)).min() {
            let known = features.map(\.name).joined(separator: ", ")
            throw Settings.Invalid("\(Self.features.argument): there is no feature “\(unknown)”; there are \(known).")
        }
        return features.filter { $0.isAlwaysLoaded || names.contains($0.name) }
    }
}
