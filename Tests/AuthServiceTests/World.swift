import AuthAPI
import Bus
import CommonAPI
import Database
import Foundation
import Kernel
import Logging
import NotificationsAPI
import Outbox
import OutgoingHTTP
import Runtime
import SocialAPI
import StreaksAPI
import Synchronization
import TestSupport
import Testing
import Tokens
import Wire

@testable import AuthService
@testable import GatewayService
@testable import ServiceRuntime

/// `auth` in this process, on a broker, a database and a key folder of its own.
final class World: Sendable {
    /// With the machine's clock and a gateway; most tests share it.
    static let shared = Task { try await World() }

    /// Says what went wrong in the service, which answers «internal» only.
    private static var logger: Logger {
        var logger = Logger(label: "auth") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .error
        return logger
    }

    let nats: NatsServer
    let databaseURL: String
    let database: Database
    let bus: BusConnection
    let keyFolder: URL
    let apple: AppleServer
    let mailbox = Mailbox()
    let ended = EndedItems()
    let publicStreaks = PublicStreaks()
    /// Nil with the machine's clock.
    let manualClock: ManualClock?
    private let bcryptCost: Int
    private let secondFactor: String
    private let sessionDays: Int
    private let settings: [String: String]
    private let hosts = Mutex<[ServiceHost<AuthModule>]>([])
    /// They answer as long as they are kept.
    private let others = Mutex<[BusService]>([])
    private let gateway = Mutex<(host: GatewayHost, port: Int)?>(nil)

    /// - Parameters:
    ///   - travelling: starts with a clock that stands still until it is moved, and without a gateway, which would not share it.
    ///   - secondFactor: whether administrators need one, `required` or `enrolled`.
    ///   - sessionDays: how long a session goes on after its last use.
    ///   - features: what each replica runs, as in `--features`; empty means all.
    ///   - settings: of replicas that run all, by key.
    init(
        travelling: Bool = false,
        bcryptCost: Int = 4,
        secondFactor: String = "enrolled",
        sessionDays: Int = 60,
        features: [String] = [""],
        settings: [String: String] = [:]
    ) async throws {
        nats = try await NatsServer.start()
        databaseURL = try await Self.makeDatabase()
        manualClock = travelling ? ManualClock(Instant(seconds: 1_800_000_000)) : nil
        (self.bcryptCost, self.secondFactor, self.sessionDays, self.settings) = (bcryptCost, secondFactor, sessionDays, settings)
        keyFolder = nats.files.appendingPathComponent("keys")
        apple = try await AppleServer.start()
        bus = try await BusConnection.connect(BusConfiguration(url: nats.url), logger: PostgresServer.silence)
        try await JetStream(connection: bus).ensureStream(.events(ofService: "auth"))
        try await JetStream(connection: bus).ensureStream(RevocationStream.configuration())
        database = Database(
            DatabaseConfiguration(connectionString: databaseURL, schema: "auth", poolSize: 4),
            logger: PostgresServer.silence
        )
        try await database.start()
        // Of the services that apply what protects a user there are none, and mails are only noted. What ended is what a test says.
        let (mailbox, ended, publicStreaks) = (mailbox, ended, publicStreaks)
        for name in ["social", "streaks", "media", "notifications"] {
            var endpoints = [Endpoint(EventBarrier.method(of: name)) { _, _ in Empty() }]
            switch name {
            case "notifications": endpoints.append(Endpoint(MailMethods.sendMail) { request, _ in try mailbox.take(request) })
            case "social": endpoints.append(Endpoint(FriendsMethods.countEndedTies) { request, _ in ended.ties(request) })
            case "streaks":
                endpoints.append(Endpoint(MutualMethods.countEndedStreaks) { request, _ in ended.streaks(request) })
                endpoints.append(Endpoint(CheckInsMethods.getPublicStreak) { request, _ in try publicStreaks.find(request) })
            default: break
            }
            let other = BusService(
                connection: bus,
                name: name,
                version: "1.0.0",
                endpoints: endpoints,
                logger: PostgresServer.silence
            )
            try await other.start()
            others.withLock { $0.append(other) }
        }
        for features in features { try await addReplica(features: features) }
        if !travelling { try await startGateway() }
    }

    /// Its replicas would keep their connections to the server that all share, which allows 500.
    deinit {
        let hosts = hosts.withLock { $0 }
        Task { [nats] in
            for host in hosts { await host.stop() }
            // Only now may their broker end.
            withExtendedLifetime(nats) {}
        }
    }

    /// A database of the world's own on the server that all share.
    private static func makeDatabase() async throws -> String {
        let server = try await PostgresServer.shared()
        let name = "auth_\(databases.wrappingAdd(1, ordering: .relaxed).newValue)"
        try await server.withDatabase(poolSize: 1) { database in
            _ = try await database.execute("CREATE DATABASE \(identifier: name)")
        }
        return server.connectionString(database: name)
    }

    private static let databases = Atomic(0)

    /// Starts one more replica of `auth`. One that runs profiles only is given no keys and no secret.
    ///
    /// - Parameter key: the key of its deployment; nil for none.
    func addReplica(
        features: String = "",
        key: String? = nil,
        refreshSecret: String = String(repeating: "secret", count: 6)
    ) async throws {
        var values = ["nats.url": nats.url, "database.url": databaseURL, "features": features]
        values["service.key"] = key
        if features != "profiles" {
            values["auth.key-folder"] = keyFolder.path
            values["auth.bcrypt-cost"] = "\(bcryptCost)"
            values["auth.admin-second-factor"] = secondFactor
            values["auth.refresh-secret"] = refreshSecret
            values["auth.session-days"] = "\(sessionDays)"
            values["auth.apple-client-ids"] = "com.example.app, com.example.web"
            values["auth.apple-keys-url"] = apple.url
            values["blob.folder"] = nats.files.appendingPathComponent("blobs").path
            values["media.signing-key"] = String(repeating: "k", count: 40)
            values.merge(settings) { $1 }
        }
        let settings = Settings(values: values, declared: AuthModule.settings)
        let host = try ServiceHost<AuthModule>(settings: settings, logger: Self.logger, clock: manualClock)
        try await host.start()
        hosts.withLock { $0.append(host) }
    }

    /// Stops the replica that was started last.
    func stopLastReplica() async { await hosts.withLock { $0.popLast() }?.stop() }

    /// Stops every replica and starts a fresh one.
    func replaceReplicas() async throws {
        let old = hosts.withLock { hosts in
            defer { hosts = [] }
            return hosts
        }
        for host in old { await host.stop() }
        try await addReplica()
    }

    private func startGateway() async throws {
        let settings = Settings(
            values: [
                "nats.url": nats.url, "http.port": "0", "http.address-rate": "0", "gateway.services": "auth",
                "http.drain-timeout": "1",
                "blob.folder": nats.files.appendingPathComponent("blobs").path,
                "media.signing-key": String(repeating: "k", count: 40), "http.trusted-proxies": "127.0.0.1",
            ],
            declared: GatewayHost.settings
        )
        let host = try GatewayHost(settings: settings, logger: PostgresServer.silence, metrics: Metrics())
        try await host.start()
        gateway.withLock { $0 = (host, host.port) }
        try await eventually("the gateway is ready") { host.isReady }
    }

    var accounts: AccountsClient { AccountsClient(bus) }
    var profiles: ProfilesClient { ProfilesClient(bus) }
    var email: EmailClient { EmailClient(bus) }

    func now() -> Instant { manualClock?.now() ?? SystemClock.now() }

    /// A call of the API. Through a trusted proxy, so that every call can come from another address.
    func call(
        _ method: String,
        _ path: String,
        _ json: String? = nil,
        token: String? = nil,
        key: String? = nil,
        from address: String? = nil
    ) async throws -> APIReply {
        let port = try #require(gateway.withLock { $0 }).port
        var headers: [(name: String, value: String)] = []
        if json != nil { headers.append(("Content-Type", "application/json")) }
        if let token { headers.append(("Authorization", "Bearer \(token)")) }
        if let key { headers.append(("Idempotency-Key", key)) }
        headers.append(("X-Forwarded-For", address ?? Self.address()))
        let reply = try await http.send(
            .init(
                method,
                "http://127.0.0.1:\(port)\(path)",
                headers: headers,
                body: json.map { Array($0.utf8) },
                timeout: .seconds(30)
            )
        )
        return APIReply(status: reply.status, retryAfter: reply.header("Retry-After").flatMap { Int($0) }, body: Data(reply.body))
    }

    private let http = OutgoingHTTP(threads: 64, queueLimit: 1_000)

    /// An address that no other test has.
    static func address() -> String {
        let number = addresses.wrappingAdd(1, ordering: .relaxed).newValue
        return "10.\(number >> 16 & 255).\(number >> 8 & 255).\(number & 255)"
    }

    private static let addresses = Atomic(0)

    /// A name that no other test has.
    static func unique(_ name: String) -> String { "\(name).\(UUID().uuidString.prefix(8).lowercased())" }

    static let password = "correct-horse-battery"

    /// A new account over the bus.
    func register(_ name: String = "sam", context: CallContext? = nil) async throws -> SignInReply {
        let unique = Self.unique(name)
        return try await accounts.register(
            RegisterRequest(email: "\(unique)@example.com", password: Self.password, username: unique),
            context: context ?? Self.context()
        )
    }

    func login(_ email: String, _ password: String = password, from address: String? = nil) async throws -> SignInReply {
        try await accounts.login(LoginRequest(email: email, password: password), context: Self.context(from: address))
    }

    static func context(
        _ user: UserID? = nil,
        role: Principal.Role = .user,
        from address: String? = nil,
        key: String? = nil
    ) -> CallContext {
        CallContext(
            deadline: SystemClock.now() + .seconds(30),
            principal: user.map { Principal(userID: $0, role: role) },
            idempotencyKey: key,
            clientAddress: address.flatMap { IPAddress($0) }
        )
    }
}

/// What a call of the API gave.
struct APIReply: Sendable {
    let status: Int
    let retryAfter: Int?
    let body: Data

    var text: String { String(decoding: body, as: UTF8.self) }
    private var object: [String: Any] { (try? JSONSerialization.jsonObject(with: body)) as? [String: Any] ?? [:] }
    var code: String? { (object["error"] as? [String: Any])?["code"] as? String }
    /// What the details of a refusal name, sorted.
    var fields: [String] {
        let details = (object["error"] as? [String: Any])?["details"] as? [[String: Any]] ?? []
        return details.compactMap { $0["field"] as? String }.sorted()
    }
    func string(_ path: String...) -> String? { value(path) as? String }
    func int(_ path: String...) -> Int? { value(path) as? Int }
    func bool(_ path: String...) -> Bool? { value(path) as? Bool }
    func strings(_ path: String...) -> [String] { value(path) as? [String] ?? [] }
    func isNull(_ path: String...) -> Bool { value(path) is NSNull }

    private func value(_ path: [String]) -> Any? {
        path.reduce(object["data"]) { value, name in (value as? [String: Any])?[name] }
    }
}

/// The reason of the refusal; nil when there was none.
func reason(_ body: () async throws -> some Sendable) async -> String? {
    do {
        _ = try await body()
        return nil
    } catch { return (error as? ServiceError)?.reason ?? "\(error)" }
}
