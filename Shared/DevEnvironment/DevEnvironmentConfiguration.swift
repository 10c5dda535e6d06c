private import Foundation

/// Where a private NATS and PostgreSQL live and listen.
public struct DevEnvironmentConfiguration: Sendable {
    /// Holds everything that lasts: `nats/`, `postgres/`, `secrets/`, `logs/`. Made when missing. When we are root, the user
    /// `postgres` must be able to get there.
    public var dataFolder: String
    /// Port of NATS on 127.0.0.1; nil for a free one.
    public var natsPort: UInt16?
    /// Port of PostgreSQL on 127.0.0.1; nil for a free one.
    public var postgresPort: UInt16?
    /// The broker's binary; nil to look for `nats-server`.
    public var natsServer: String?
    /// The folder with PostgreSQL's `initdb` and `postgres`; nil for Debian's.
    public var postgresBinaries: String?
    /// Further settings of PostgreSQL, as in `postgresql.conf`; tests turn `fsync` off.
    public var postgresSettings: [String: String]
    /// How long each server may take to be ready.
    public var startTimeout: Duration
    /// Accounts of the broker for systems beside each other, as tests need them (`NATSConfiguration.privateAccounts`); 0 by default.
    public var privateAccounts = 0
    /// Services of others, which get users of the broker and roles of the database; none by default.
    public var services = FurtherServices.none

    /// A configuration.
    ///
    /// - Parameter environment: `NATS_SERVER` names the broker's binary and `POSTGRES_BIN` the folder of PostgreSQL's binaries
    ///   where the arguments do not; nil for that of the process.
    public init(
        dataFolder: String,
        natsPort: UInt16? = nil,
        postgresPort: UInt16? = nil,
        natsServer: String? = nil,
        postgresBinaries: String? = nil,
        postgresSettings: [String: String] = [:],
        startTimeout: Duration = .seconds(60),
        environment: [String: String]? = nil
    ) {
        let environment = environment ?? ProcessInfo.processInfo.environment
        self.dataFolder = URL(filePath: dataFolder).standardizedFileURL.path(percentEncoded: false)
        if self.dataFolder.count > 1 && self.dataFolder.hasSuffix("/") { self.dataFolder.removeLast() }
        self.natsPort = natsPort
        self.postgresPort = postgresPort
        self.natsServer = natsServer ?? environment["NATS_SERVER"]
        self.postgresBinaries = postgresBinaries ?? environment["POSTGRES_BIN"]
        self.postgresSettings = postgresSettings
        self.startTimeout = startTimeout
    }

    /// Where PostgreSQL's programs are.
    var postgresFolder: String { postgresBinaries ?? "/usr/lib/postgresql/15/bin" }
}

/// Where the servers of a running environment are, and the secrets to use them with.
public struct Endpoints: Sendable, Equatable {
    /// `nats://127.0.0.1:4222`, without credentials.
    public var natsURL: String
    /// `postgresql://postgres:…@127.0.0.1:5432/streaksnap` of the superuser.
    public var adminPostgresURL: String
    /// The folder of the secrets; each is a file of its own with mode 0600.
    public var secretsFolder: String
    let natsPasswords: [String: String]
    let sealKeys: [String: String]
    let postgresURLs: [String: String]

    /// The password of a NATS user (`auth` … `billing`, `gateway`, `operator`, a further service); nil for an unknown one.
    public func natsPassword(of user: String) -> String? { natsPasswords[user] }

    /// The connection string of a service's role, which sees only the schema of the same name, by a socket in the data folder (by TCP when
    /// that folder's path does not serve); nil for an unknown one.
    public func postgresURL(of service: String) -> String? { postgresURLs[service] }

    /// The port of PostgreSQL on 127.0.0.1.
    public var postgresPort: Int
    /// Where services reach PostgreSQL.
    public var postgresAddress: PostgresAddress
    let postgresPasswords: [String: String]

    /// The connection string of a service's role for another database of the same server, reached at another address; nil for an
    /// unknown role.
    public func postgresURL(of service: String, database: String, at address: PostgresAddress) -> String? {
        postgresPasswords[service].map { address.url(of: service, password: $0, database: database) }
    }

    /// The connection string of the superuser for another database of the same server.
    public func adminPostgresURL(database: String) -> String {
        "postgresql://postgres:\(postgresPasswords["admin"] ?? "")@127.0.0.1:\(postgresPort)/\(database)"
    }

    /// The key with which gateways seal principals for a service, a further one too; nil for an unknown one.
    public func sealKey(of service: String) -> String? { sealKeys[service] }

    /// The keys of all services, as a gateway is given them.
    public var sealKeysOfAll: String { Self.text(ofSealKeys: sealKeys) }

    static func text(ofSealKeys keys: [String: String]) -> String {
        keys.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.joined(separator: " ")
    }

    /// The file with the key of a service.
    public func sealKeyFile(of service: String) -> String { "\(secretsFolder)/seal-\(service)" }

    /// The file with the keys of all services, for gateways.
    public var sealKeysFile: String { "\(secretsFolder)/seal-keys" }

    /// The file with the password of a NATS user.
    public func natsPasswordFile(of user: String) -> String { "\(secretsFolder)/nats-\(user)" }

    /// The file with the private half of a service's deployment key.
    public func serviceKeyFile(of service: String) -> String { "\(secretsFolder)/service-key-\(service)" }

    /// The file with the public halves of all services, as `service.public-keys` takes them.
    public var servicePublicKeysFile: String { "\(secretsFolder)/service-public-keys" }

    /// The file whose text (64 hexadecimal digits) is the key that signs links to blobs.
    public var mediaSigningKeyFile: String { "\(secretsFolder)/media-signing-key" }

    /// The file whose text is what successors of refresh tokens are derived with.
    public var refreshSecretFile: String { "\(secretsFolder)/refresh-secret" }

    /// The folder of the keys that sign access tokens; `auth` makes the first one.
    public var tokenKeyFolder: String { "\(secretsFolder)/token-keys" }
}
