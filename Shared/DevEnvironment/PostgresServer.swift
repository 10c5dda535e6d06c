private import Glibc
internal import Logging
internal import Processes

/// The private database server.
struct PostgresServer: Sendable {
    let server: SupervisedServer
    let port: UInt16
    /// Where services reach it.
    let address: PostgresAddress

    /// PostgreSQL refuses to run as root, so root becomes this user of Debian's package.
    private static let account = "postgres"
    private static let wayOut = "apt-get install postgresql-15"

    static func start(
        _ configuration: DevEnvironmentConfiguration,
        passwords: [String: String],
        logger: Logger
    ) async throws -> PostgresServer {
        let binaries = configuration.postgresFolder
        for program in ["postgres", "initdb", "psql", "pg_isready"] {
            try Binaries.check("\(binaries)/\(program)", wayOut: wayOut)
        }
        let folder = "\(configuration.dataFolder)/postgres"
        try Files.makeFolder(folder, mode: 0o700)
        let user = geteuid() == 0 ? account : nil
        if user != nil { try await giveFolder(folder, parent: configuration.dataFolder) }
        let setUp = PostgresSetup(configuration: configuration, binaries: binaries, folder: folder, user: user)
        try await setUp.makeCluster(superuserPassword: passwords["admin"] ?? "")
        let processFile = "\(setUp.cluster)/postmaster.pid"
        try await Leftover.wait(file: processFile, mark: setUp.cluster, name: "PostgreSQL")
        try Leftover.remove(file: processFile)
        let sockets = PostgresSocketFolder(path: folder)
        sockets.removeLeftovers()

        let port = try configuration.postgresPort ?? Ports.free()
        try Ports.check(port, for: "PostgreSQL", option: "--postgres-port")
        let log = "\(configuration.dataFolder)/logs/postgres.log"
        Files.rotate(log)
        var settings = [
            "listen_addresses": "127.0.0.1", "port": "\(port)", "unix_socket_directories": sockets.setting,
            "logging_collector": "off",
            "log_destination": "stderr", "max_connections": "200", "timezone": "UTC", "log_timezone": "UTC",
            "log_line_prefix": "%m [%p] %u@%d ",
            // The detail of a violated constraint holds the row's values, such as an e-mail (D11).
            "log_error_verbosity": "terse",
        ]
        settings.merge(configuration.postgresSettings) { _, given in given }
        let command = Command(
            executable: "\(binaries)/postgres",
            arguments: ["-D", setUp.cluster] + settings.sorted { $0.key < $1.key }.flatMap { ["-c", "\($0.key)=\($0.value)"] },
            environment: PostgresSetup.environment,
            user: user,
            deathSignal: "INT",
            output: log
        )
        // SIGINT: end sessions and stop; SIGQUIT: stop at once and recover at the next start.
        let server = SupervisedServer(name: "PostgreSQL", command: command, stopSignals: [SIGINT, SIGQUIT], logger: logger)
        try await server.start(timeout: configuration.startTimeout) { await setUp.isReady(port: port) }
        do {
            try await setUp.makeRoles(port: port, passwords: passwords)
        } catch {
            await server.stop()
            throw error
        }
        logger.info("PostgreSQL is ready", metadata: ["port": "\(port)"])
        return PostgresServer(server: server, port: port, address: sockets.address(port: port))
    }

    /// Makes the folder the account's and sees that the account can get there.
    private static func giveFolder(_ folder: String, parent: String) async throws {
        guard let entry = getpwnam(account) else {
            throw DevEnvironmentError(
                "There is no user \(account). PostgreSQL must run as that user when started by root.",
                wayOut: wayOut
            )
        }
        guard chown(folder, entry.pointee.pw_uid, entry.pointee.pw_gid) == 0 else {
            throw DevEnvironmentError(
                "\(folder) cannot be given to the user \(account): \(Files.reason(errno)).",
                wayOut: "Choose another data folder with --data."
            )
        }
        let probe = Command(
            executable: "/usr/bin/test",
            arguments: ["-w", folder],
            user: account,
            output: "\(parent)/logs/setup.log"
        )
        guard try await ChildProcess.spawn(probe).waitForExit() == 0 else {
            throw DevEnvironmentError(
                "User \(account), that PostgreSQL runs as when started by root, cannot enter \(folder)\(closedFolder(above: folder)).",
                wayOut: "Open that folder (chmod o+x), or choose a data folder elsewhere with --data, for example below /var/lib."
            )
        }
    }

    /// The topmost folder that others may not enter, for the message.
    private static func closedFolder(above path: String) -> String {
        var prefix = ""
        for part in path.split(separator: "/").dropLast() {
            prefix += "/\(part)"
            var status = stat()
            if stat(prefix, &status) == 0, status.st_mode & S_IXOTH == 0 { return ": \(prefix) is closed to others" }
        }
        return ""
    }
}
