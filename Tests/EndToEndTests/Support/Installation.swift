import Bus
import Foundation
import Logging
import Processes
import Synchronization
import TestSupport
import Testing

/// A running system of its own: `streaksnap up` in a temporary folder on free ports.
final class Installation: Sendable {
    /// Does not move its clock; most tests share it. It knows an app of Apple's.
    static let shared = Task {
        let keys = try await appleKeys.value.url
        return try await Installation(
            environment: ["STREAKSNAP_AUTH_APPLE_CLIENT_IDS": "com.example.app", "STREAKSNAP_AUTH_APPLE_KEYS_URL": keys]
        )
    }
    private static let appleKeys = Task { try await AppleKeysServer() }
    /// For the tests of the development clock.
    static let timeTravelling = Task { try await Installation(["--dev-clock"], environment: smallExports) }
    /// Seven processes that may be killed.
    static let separate = Task { try await Installation(["--separate"], environment: smallExports) }

    /// So that a file of several pages needs a few thousand rows.
    private static let smallExports = ["STREAKSNAP_AUTH_EXPORT_REPLY_BYTES": "400000"]

    let http: HTTPClient
    let data: URL
    let natsPort: UInt16
    let postgresPort: UInt16
    let guardian: Guardian
    private let connection = Mutex<AdministratorConnection?>(nil)
    /// Where people live unless a test says otherwise. By a clock that is not moved it is noon there, so that no test meets a midnight.
    let zone: String

    /// - Parameters:
    ///   - options: of `streaksnap up`.
    ///   - rates: requests a second of a user and from an address; tests ask more often than people, so by default there is no limit.
    ///   - environment: more settings, by the names of their variables.
    ///   - startsEmpty: makes its cluster and tables itself, instead of beginning with a copy of prepared ones.
    ///   - existing: a data folder to begin with instead; it is moved.
    ///   - program: starts `streaksnap` from elsewhere; its arguments follow.
    init(
        _ options: [String] = [],
        rates: (user: Int, address: Int) = (0, 0),
        environment more: [String: String] = [:],
        startsEmpty: Bool = false,
        existing: URL? = nil,
        program: [String] = [Installation.binaries.appending(path: "streaksnap").path]
    ) async throws {
        let folder = try Self.makeFolder()
        let ports = try Self.freePorts(3)
        (http, natsPort, postgresPort) = (HTTPClient(port: ports[0]), ports[1], ports[2])
        data = folder.appending(path: "data")
        if let existing {
            try FileManager.default.moveItem(at: existing, to: data)
        } else if !startsEmpty {
            try await PreparedData.copy(to: data)
        }
        zone = options.contains("--dev-clock") ? "UTC" : Self.zone(atHour: 12)
        let command =
            program + [
                "up", "--port", "\(ports[0])", "--nats-port", "\(ports[1])",
                "--postgres-port", "\(ports[2])", "--data", data.path, "--bcrypt-cost", "4",
                "--ready-file", folder.appending(path: "ready").path,
            ]
        let environment = ["STREAKSNAP_HTTP_USER_RATE": "\(rates.user)", "STREAKSNAP_HTTP_ADDRESS_RATE": "\(rates.address)"]
        guardian = try await Guardian(command + options, environment: environment.merging(more) { $1 }, folder: folder)
        try await eventually("the system is ready", within: .seconds(120)) { [guardian] in
            guard guardian.isRunning else {
                throw Guardian.Failure(description: "streaksnap ended: \(try guardian.output().suffix(20_000))")
            }
            return Files.text(folder.appending(path: "ready")) != nil
        }
    }

    /// A zone whose clocks show this hour now.
    static func zone(atHour wanted: Int) -> String {
        let hour = Int(Date().timeIntervalSince1970 / 3_600) % 24
        // Zones reach from -12 to +14.
        let offset = wanted - hour + (wanted - hour < -12 ? 24 : wanted - hour > 14 ? -24 : 0)
        // Their sign is the wrong way round.
        return offset == 0 ? "UTC" : "Etc/GMT\(offset > 0 ? "-" : "+")\(abs(offset))"
    }

    /// A folder that the user `postgres` can reach.
    static func makeFolder() throws -> URL { URL(filePath: try makeTemporaryFolder("streaksnap-e2e-", mode: 0o755)) }

    /// Where the executables are: in STREAKSNAP_BIN, or beside this test.
    static var binaries: URL {
        if let folder = ProcessInfo.processInfo.environment["STREAKSNAP_BIN"] { return URL(filePath: folder) }
        let beside = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        if FileManager.default.isExecutableFile(atPath: beside.appending(path: "streaksnap").path) { return beside }
        return URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../.build/release").standardized
    }

    /// Below those that Linux gives to connections and to who asks for any port (32768 and more): a port of those that was only found to be free
    /// may be taken by a connection before its server listens.
    private static let portRange = 10_000..<32_000
    /// Where the next search begins: elsewhere in each process that runs tests, and never again at one that was given away.
    private static let nextPort = Mutex(portRange.lowerBound + Int(getpid()) * 997 % portRange.count)

    /// Ports on which nothing listens, and that no other caller gets; in a row where all of those are free.
    static func freePorts(_ count: Int) throws -> [UInt16] {
        let found = nextPort.withLock { next in
            var found: [UInt16] = []
            for _ in portRange where found.count < count {
                let port = UInt16(next)
                next = next + 1 < portRange.upperBound ? next + 1 : portRange.lowerBound
                if canBeBound(port) { found.append(port) }
            }
            return found
        }
        guard found.count == count else { throw Guardian.Failure(description: "no free ports") }
        return found
    }

    private static func canBeBound(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = HTTPClient.loopback(port)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    func secret(_ name: String) throws -> String {
        try #require(Files.text(data.appending(path: "secrets/\(name)")), "there is no secret \(name)")
    }

    /// An administrator's `psql`, its arguments, and its environment.
    private func psql(_ statement: String) throws -> (path: String, arguments: [String], environment: [String: String]) {
        let binaries = URL(filePath: ProcessInfo.processInfo.environment["POSTGRES_BIN"] ?? "/usr/lib/postgresql/15/bin")
        let environment = [
            "PGHOST": "127.0.0.1", "PGPORT": "\(postgresPort)", "PGUSER": "postgres", "PGDATABASE": "streaksnap",
            "PGPASSWORD": try secret("postgres-admin"),
        ]
        let arguments = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statement]
        return (binaries.appending(path: "psql").path, arguments, environment)
    }

    /// What an administrator's connection answers: one line a row, as `psql -At` prints it.
    func sql(_ statement: String) async throws -> String { try await administrator().ask(statement) }

    private func administrator() throws -> AdministratorConnection {
        let password = try secret("postgres-admin")
        return connection.withLock { kept in
            if let kept { return kept }
            let made = AdministratorConnection(
                "host=127.0.0.1 port=\(postgresPort) user=postgres dbname=streaksnap password=\(password) connect_timeout=30"
            )
            kept = made
            return made
        }
    }

    /// The same for statements that take their time: it goes on until they end or are ended.
    func longSQL(_ statement: String) async throws -> ChildProcess {
        let (path, arguments, environment) = try psql(statement)
        return try await ChildProcess.spawn(
            Command(
                executable: path,
                arguments: arguments,
                environment: Command.inherited(environment),
                deathSignal: "TERM",
                output: "/dev/null"
            )
        )
    }

    /// A connection with the rights of a user of the broker; without a name with all rights, and with a gateway's keys.
    func bus(as user: String = "operator") async throws -> BusConnection {
        var configuration = BusConfiguration(
            url: "nats://127.0.0.1:\(natsPort)",
            name: "end-to-end",
            user: user,
            password: try secret("nats-\(user)"),
            inboxPrefix: "_INBOX.\(user)"
        )
        if user == "operator" { configuration.sealer = try Sealer(try secret("seal-keys")) }
        return try await BusConnection.connect(
            configuration,
            logger: Logger(label: "end-to-end") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    /// All logs.
    var logs: String {
        ([guardian.log] + Files.all(below: data.appending(path: "logs"))).compactMap { Files.text($0) }.joined(separator: "\n")
    }

    /// The names of all processes that run now, by their ids: `streaksnap` and whatever descends from it.
    func processes() -> [pid_t: String] {
        var found: [pid_t: String] = [:]
        var waiting = [guardian.programID]
        while let process = waiting.popLast() {
            found[process] = ProcessTree.name(of: process)
            waiting += ProcessTree.children(of: process)
        }
        return found.filter { !$0.value.isEmpty }
    }

    /// Files of uploads that are not stored yet.
    var incoming: [URL] {
        Files.all(below: data.appending(path: "blobs")).filter {
            $0.path.contains("/incoming/") || $0.path.contains("/.temporary/")
        }
    }

    /// A call of the API. A change that is answered with `Retry-After: 2`, because it has not taken effect everywhere yet on a busy machine, is
    /// made again as a client would, where that is safe: with a key, or a DELETE.
    func call(
        _ method: String,
        _ path: String,
        token: String? = nil,
        json: String? = nil,
        headers: [(String, String)] = []
    ) async throws -> HTTPReply {
        var headers = headers
        if let token { headers.append(("Authorization", "Bearer \(token)")) }
        if json != nil { headers.append(("Content-Type", "application/json")) }
        let mayRepeat = method == "DELETE" || headers.contains { $0.0 == "Idempotency-Key" }
        for _ in 0..<10 {
            let reply = try await http.send(method, path, headers: headers, body: json.map { Array($0.utf8) })
            guard mayRepeat, reply.status == 503, reply.header("Retry-After") == "2" else { return reply }
        }
        return try await http.send(method, path, headers: headers, body: json.map { Array($0.utf8) })
    }
}
