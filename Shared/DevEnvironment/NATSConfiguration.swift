/// The broker's configuration file, from the table of rights.
///
/// Passwords are not in it: the file names environment variables (`NATS_PASSWORD_AUTH` …), so that the same text serves
/// development and `deploy/nats/nats.conf`.
public struct NATSConfiguration: Sendable, Equatable {
    /// `127.0.0.1:4222`.
    public var listen: String
    /// The folder of JetStream's files.
    public var storeFolder: String
    /// Where the broker writes its process id; nil for nowhere.
    public var processFile: String?
    /// Whether every stored message is synced before it is acknowledged. nats-server refuses the setting before 2.10.
    public var syncsAlways: Bool
    /// The users and their rights.
    public var users: [BusPermissions]
    /// How many further accounts there are, each as good as a broker of its own: `WORLD1` … with the users `auth-1`, `operator-1` …, which
    /// have the rights and passwords of those of the first account. For tests that run many systems beside each other.
    public var privateAccounts: Int

    /// A configuration.
    public init(
        listen: String,
        storeFolder: String,
        processFile: String? = nil,
        syncsAlways: Bool,
        users: [BusPermissions] = BusPermissions.table,
        privateAccounts: Int = 0
    ) {
        self.listen = listen
        self.storeFolder = storeFolder
        self.processFile = processFile
        self.syncsAlways = syncsAlways
        self.users = users
        self.privateAccounts = privateAccounts
    }

    /// What a user is called in a private account, 1 and up.
    public static func name(of user: String, inAccount account: Int) -> String { "\(user)-\(account)" }

    /// That of `deploy/nats/nats.conf`, for containers: nats-server 2.10 or newer with its disk at /data.
    public static let deployed = NATSConfiguration(listen: "0.0.0.0:4222", storeFolder: "/data/jetstream", syncsAlways: true)

    /// The same with users for further services.
    public static func deployed(with services: FurtherServices) -> NATSConfiguration {
        var configuration = deployed
        configuration.users = services.users
        return configuration
    }

    /// The text of the file.
    public func render() -> String {
        let process = processFile.map { "pid_file: \(quoted($0))\n" } ?? ""
        let sync = syncsAlways ? "\n    sync_interval: always" : ""
        return """
            # Made by StreakSnap from its table of rights (Shared/DevEnvironment/BusPermissions.swift); edit that, not this.
            server_name: streaksnap
            listen: \(quoted(listen))
            \(process)max_payload: 8MB
            max_connections: 1024
            write_deadline: "5s"

            jetstream {
                store_dir: \(quoted(storeFolder))
                max_memory_store: 64MB
                max_file_store: 10GB\(sync)
            }

            # Users live inside an account, and there is neither an authorization block nor a user for anonymous clients: 2.9 would
            # let those in (CVE-2023-47090).
            \(accounts)

            """
    }

    /// Its block `accounts`, for a configuration whose other lines come from elsewhere.
    public var accounts: String {
        """
        accounts {
        \(([account("STREAKSNAP") { $0 }] + worlds).joined(separator: "\n"))
        }
        """
    }

    private var worlds: [String] {
        (0..<privateAccounts).map { index in account("WORLD\(index + 1)") { Self.name(of: $0, inAccount: index + 1) } }
    }

    private func account(_ name: String, _ naming: (String) -> String) -> String {
        """
            \(name) {
                jetstream: enabled
                users: [
        \(users.map { user($0, named: naming($0.user)) }.joined(separator: "\n"))
                ]
            }
        """
    }

    private func user(_ user: BusPermissions, named name: String) -> String {
        var lines = ["{", "    user: \(quoted(name))", "    password: $\(user.passwordVariable)"]
        if user.publish != nil || user.subscribe != nil {
            lines.append("    permissions: {")
            lines += rights("publish", user.publish, not: user.notPublish) + rights("subscribe", user.subscribe)
            lines.append("    }")
        }
        lines.append("}")
        return lines.map { String(repeating: " ", count: 12) + $0 }.joined(separator: "\n")
    }

    private func rights(_ verb: String, _ subjects: [String]?, not denied: [String] = []) -> [String] {
        guard let subjects else { return [] }
        let lines = { (subjects: [String]) in subjects.map { "            \(quoted($0))" } }
        let end = denied.isEmpty ? ["        ] }"] : ["        ], deny: ["] + lines(denied) + ["        ] }"]
        return ["        \(verb): { allow: ["] + lines(subjects) + end
    }

    private func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
