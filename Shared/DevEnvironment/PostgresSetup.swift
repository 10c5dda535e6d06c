private import Glibc
internal import Processes

/// Makes the cluster, the roles and the schemas.
struct PostgresSetup: Sendable {
    let configuration: DevEnvironmentConfiguration
    let binaries: String
    /// The folder of the user that PostgreSQL runs as.
    let folder: String
    /// The user to run it as; nil for this process's own.
    let user: String?

    static let environment = ["LC_ALL": "C.UTF-8", "TZ": "UTC", "PATH": "/usr/bin:/bin"]

    /// The data directory.
    var cluster: String { "\(folder)/cluster" }
    private var log: String { "\(configuration.dataFolder)/logs/setup.log" }

    /// Makes the cluster unless there is one. A crash half-way leaves only a folder that the next start makes anew.
    func makeCluster(superuserPassword: String) async throws {
        if Files.exists("\(cluster)/PG_VERSION") { return try checkVersion() }
        let (draft, passwordFile) = ("\(folder)/draft", "\(folder)/draft-password")
        _ = try await run("/bin/rm", ["-rf", draft, passwordFile])
        try Files.write(superuserPassword, to: passwordFile, mode: 0o600)
        if let user, let entry = getpwnam(user) { chown(passwordFile, entry.pointee.pw_uid, entry.pointee.pw_gid) }
        defer { unlink(passwordFile) }
        let status = try await run(
            "\(binaries)/initdb",
            [
                "-D", draft, "-U", "postgres", "--pwfile", passwordFile, "--auth=scram-sha-256", "--encoding=UTF8",
                "--locale=C.UTF-8",
                "--data-checksums",
            ]
        )
        guard status == 0, rename(draft, cluster) == 0 else {
            throw DevEnvironmentError(
                "PostgreSQL's data could not be made. The end of \(log):\n\(Files.tail(log))",
                wayOut: "See the log for the cause."
            )
        }
    }

    /// Whether the server accepts connections.
    func isReady(port: UInt16) async -> Bool {
        let status = try? await run("\(binaries)/pg_isready", ["-q", "-h", "127.0.0.1", "-p", "\(port)", "-t", "1"])
        return status == 0
    }

    /// Makes database, roles and schemas where they are missing, and sets the passwords to those of the secrets folder.
    func makeRoles(port: UInt16, passwords: [String: String]) async throws {
        let script = "\(configuration.dataFolder)/secrets/roles.sql"
        let services = BusPermissions.services + configuration.services.databases
        try Files.write(PostgresRoles.script(services: services), to: script, mode: 0o600)
        defer { unlink(script) }
        var environment = Self.environment
        environment["PGPASSWORD"] = passwords["admin"]
        for service in services { environment[PostgresRoles.passwordVariable(of: service)] = passwords[service] }
        let command = Command(
            executable: "\(binaries)/psql",
            arguments: ["-X", "-q", "-h", "127.0.0.1", "-p", "\(port)", "-U", "postgres", "-d", "postgres"],
            environment: environment,
            input: script,
            output: log
        )
        guard try await ChildProcess.spawn(command).waitForExit() == 0 else {
            throw DevEnvironmentError(
                "The roles and schemas could not be made. The end of \(log):\n\(Files.tail(log))",
                wayOut: "If the secrets folder was lost, the data folder must be removed too."
            )
        }
    }

    private func checkVersion() throws {
        // Read by this process's user: root can, and otherwise the folder is its own.
        let found = try Files.read("\(cluster)/PG_VERSION")
        guard found == "15" else {
            throw DevEnvironmentError(
                "The data in \(cluster) is that of PostgreSQL \(found); this needs 15.",
                wayOut: "Choose another data folder with --data, or move the data with pg_upgrade."
            )
        }
    }

    private func run(_ program: String, _ arguments: [String]) async throws -> Int32 {
        try await ChildProcess.spawn(
            Command(executable: program, arguments: arguments, environment: Self.environment, user: user, output: log)
        ).waitForExit()
    }
}
