public import Bus
public import Database
public import Kernel
public import Logging
public import Outbox

/// One service as the runtime sees it: what it is called, what can be set, and how it is put together.
public protocol ServiceModule: Sendable {
    /// The name on the bus and of the schema: `streaks`.
    static var name: String { get }
    /// One sentence for `--help` and `$SRV.INFO`.
    static var about: String { get }
    /// Settings beyond those every service has.
    static var settings: [any AnySetting] { get }
    /// The service's own tables, in order.
    static var migrations: [MigrationSet] { get }
    /// The descriptor set it was built with, and its SHA-256 (D2).
    static var descriptor: (bytes: [UInt8], hash: String) { get }
    /// Puts the service together. Nothing is answered, heard or run before this has returned.
    ///
    /// - Throws: `Settings.Invalid` for unusable settings.
    static func assemble(_ environment: ServiceEnvironment) async throws -> ServiceAssembly
}

extension ServiceModule {
    public static var settings: [any AnySetting] { [] }
}

/// Everything a service may reach. Nobody reaches for a clock, a random source or a connection elsewhere.
public struct ServiceEnvironment: Sendable {
    /// What the operator set.
    public let settings: Settings
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
}

/// What a service answers, hears and does by itself.
public struct ServiceAssembly: Sendable {
    /// Its RPCs.
    public var endpoints: [Endpoint]
    /// The events it hears.
    public var consumers: [EventHandler]
    /// Its time-driven work.
    public var jobs: [Job]

    /// A service's table of contents.
    public init(endpoints: [Endpoint], consumers: [EventHandler] = [], jobs: [Job] = []) {
        self.endpoints = endpoints
        self.consumers = consumers
        self.jobs = jobs
    }
}

/// Migrations that are numbered together: those of a shared module, or those of the service itself.
public struct MigrationSet: Sendable {
    /// `outbox`, `profile_replica`, `streaks`: numbering starts anew in each.
    public let scope: String
    /// In order.
    public let migrations: [Migration]

    /// A numbered list.
    public init(_ scope: String, _ migrations: [Migration]) {
        self.scope = scope
        self.migrations = migrations
    }
}
