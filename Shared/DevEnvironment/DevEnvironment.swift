private import Foundation
public import Logging

/// A private NATS and a private PostgreSQL in a data folder, for development, tests and small installations (D10).
///
/// `start` takes the folder's lock, makes what is missing (secrets, cluster, roles, schemas, configuration), starts both servers
/// on 127.0.0.1 and waits until they answer. What exists is used again. The servers are started again when they end by
/// themselves, the broker also when its JetStream no longer answers (after a full disk); they end when this process ends, however it
/// ends. Logs are in `logs/`.
public actor DevEnvironment {
    private let configuration: DevEnvironmentConfiguration
    private let logger: Logger
    private var running: Running?
    private var starting: Task<Running, any Error>?

    private struct Running: Sendable {
        let lock: FolderLock
        let nats: NATSServer
        let postgres: PostgresServer
        let endpoints: Endpoints
    }

    /// An environment that is not running yet.
    public init(_ configuration: DevEnvironmentConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    /// Starts both servers, or answers where they are when they run already.
    ///
    /// - Throws: `DevEnvironmentError`, which names the cause and the way out: a program that is not installed, a port that is
    ///   taken, a folder that is in use, cannot be written or cannot be reached by the user `postgres`, a server that does not come up.
    public func start() async throws -> Endpoints {
        if let running { return running.endpoints }
        let task = starting ?? Task { try await launch() }
        starting = task
        defer { starting = nil }
        return try await task.value.endpoints
    }

    private func launch() async throws -> Running {
        // Started by root, PostgreSQL is another user, whose folder is in it.
        try Files.makePrivateFolder(configuration.dataFolder, isPassable: geteuid() == 0)
        let lock = try FolderLock(folder: configuration.dataFolder)
        try Files.makePrivateFolder("\(configuration.dataFolder)/logs")
        let secrets = try Secrets(folder: "\(configuration.dataFolder)/secrets")
        let roles = BusPermissions.services + configuration.services.databases
        let natsPasswords = try Self.passwords(of: configuration.services.users.map(\.user), prefix: "nats-", in: secrets)
        let postgresPasswords = try Self.passwords(of: roles + ["admin"], prefix: "postgres-", in: secrets)
        let sealed = BusPermissions.services + configuration.services.names
        let sealKeys = try Self.passwords(of: sealed, prefix: "seal-", in: secrets)
        try secrets.replace("seal-keys", with: Endpoints.text(ofSealKeys: sealKeys) + "\n")
        _ = try secrets.text("media-signing-key")
        _ = try secrets.text("refresh-secret")
        try Self.makeServiceKeys(of: BusPermissions.services + configuration.services.names, in: secrets)

        let nats = try await retryingFreePort(configuration.natsPort) {
            try await NATSServer.start(configuration, passwords: natsPasswords, logger: logger)
        }
        let postgres: PostgresServer
        do {
            postgres = try await retryingFreePort(configuration.postgresPort) {
                try await PostgresServer.start(configuration, passwords: postgresPasswords, logger: logger)
            }
        } catch {
            await nats.stop()
            throw error
        }
        let address = "127.0.0.1:\(postgres.port)/\(PostgresRoles.database)"
        let endpoints = Endpoints(
            natsURL: "nats://127.0.0.1:\(nats.port)",
            adminPostgresURL: "postgresql://postgres:\(postgresPasswords["admin"] ?? "")@\(address)",
            secretsFolder: secrets.folder,
            natsPasswords: natsPasswords,
            sealKeys: sealKeys,
            postgresURLs: Dictionary(
                uniqueKeysWithValues: roles.map { role in
                    (
                        role,
                        postgres.address.url(
                            of: role,
                            password: postgresPasswords[role] ?? "",
                            database: PostgresRoles.database
                        )
                    )
                }
            ),
            postgresPort: Int(postgres.port),
            postgresAddress: postgres.address,
            postgresPasswords: postgresPasswords
        )
        let running = Running(lock: lock, nats: nats, postgres: postgres, endpoints: endpoints)
        self.running = running
        return running
    }

    /// Stops both servers gracefully and lets go of the folder. Does nothing when they do not run.
    public func stop() async {
        if let starting { _ = try? await starting.value }
        guard let running else { return }
        self.running = nil
        // Postgres last: services that still finish work write there.
        await running.nats.stop()
        await running.postgres.server.stop()
    }

    /// The process ids of both servers, as they are now; nil while stopped or being started again.
    public var processIDs: (nats: Int32?, postgres: Int32?) {
        (running?.nats.server.processID, running?.postgres.server.processID)
    }

    private static func passwords(of users: [String], prefix: String, in secrets: Secrets) throws -> [String: String] {
        try Dictionary(uniqueKeysWithValues: users.map { ($0, try secrets.text(prefix + $0)) })
    }

    /// Makes the keys by which gateways know the services (D23), and the list of their public halves.
    private static func makeServiceKeys(of services: [String], in secrets: Secrets) throws {
        let keys = try services.map { "\($0)=\(try secrets.serviceKey("service-key-\($0)"))" }
        try Files.write(keys.joined(separator: ",") + "\n", to: "\(secrets.folder)/service-public-keys", mode: 0o600)
    }

    /// Another process may take a free port before it is used here: then another one is tried, unless it was given.
    private func retryingFreePort<Server: Sendable>(_ given: UInt16?, _ start: () async throws -> Server) async throws -> Server {
        for _ in 0..<2 where given == nil {
            do {
                return try await start()
            } catch let error as DevEnvironmentError
                where error.cause.contains("address already in use")
                || error.cause.contains("Address already in use")
            {
                logger.info("the free port was taken meanwhile; another is tried")
            }
        }
        return try await start()
    }
}
