public import Bus
public import Database
public import Kernel
public import Logging
public import Outbox
public import Runtime

/// One service as the runtime sees it: what it is called, its tables, and the list of its features (D14).
public protocol ServiceModule: Sendable {
    /// The name on the bus and of the schema: `streaks`.
    static var name: String { get }
    /// One sentence for `--help` and `$SRV.INFO`.
    static var about: String { get }
    /// Semantic version of what was built, for `$SRV.INFO`, `--version` and the gateways: of two versions that run beside each other, the routes of
    /// the higher one are served. That of this repository by default; a service of another has its own.
    static var version: String { get }
    /// The descriptor set it was built with, and its SHA-256 (D2).
    static var descriptor: (bytes: [UInt8], hash: String) { get }
    /// What it consists of.
    static var features: [ServiceFeature] { get }
    /// What its executable can do besides running: `streaks declare-outage`.
    static var commands: [ProgramCommand] { get }
    /// Has events that came from outside applied again (`billing events replay`); nil for a service that keeps none.
    static var replay: EventReplay? { get }
}

/// Marks one event from outside, by its id, or all of them as not applied; running replicas apply them again. Returns how many.
public typealias EventReplay = @Sendable (String?, Database) async throws -> Int

extension ServiceModule {
    public static var version: String { BuildInfo.version }
    public static var commands: [ProgramCommand] { [] }
    public static var replay: EventReplay? { nil }

    /// The tables of all features, whichever a replica runs; each set once.
    public static var migrations: [MigrationSet] {
        var known: Set<String> = []
        return features.flatMap(\.migrations).filter { known.insert($0.scope).inserted }
    }

    /// Everything that can be set, each setting once.
    public static var settings: [any AnySetting] {
        var known: Set<String> = []
        return (ServiceSettings.all + features.flatMap(\.settings)).filter { known.insert($0.key).inserted }
    }
}

/// Everything a feature may reach. No feature gets a clock, a random source or a connection elsewhere.
public struct ServiceEnvironment: Sendable {
    /// What the operator set.
    public let settings: Settings
    /// The names of the features that this replica runs.
    public let features: Set<String>
    /// The current instant (D8).
    public let clock: any Clock
    /// New ids.
    public let ids: any IDSource
    /// The service's own schema.
    public let database: Database
    /// Other services.
    public let bus: BusConnection
    /// Transactions with events.
    public let work: UnitOfWorkFactory
    /// Transactions of mutating requests, once per idempotency key.
    public let mutations: Mutations
    /// For what an operator must see.
    public let logger: Logger
    /// For `/metrics`.
    public let metrics: Metrics
    /// How much users may store.
    public internal(set) var quotas = Quotas()
    /// How far events of other services have been consumed.
    public let events = EventProgress()
    /// What features have in common (`shared`).
    let parts = SharedParts()
}
