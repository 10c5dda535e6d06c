private import Glibc
internal import Logging
internal import Processes

/// The private broker.
struct NATSServer: Sendable {
    let server: SupervisedServer
    let port: UInt16
    private let watch: Task<Void, Never>

    /// Ends it, and what looks after it.
    func stop() async {
        watch.cancel()
        await server.stop()
        await watch.value
    }

    static func start(
        _ configuration: DevEnvironmentConfiguration,
        passwords: [String: String],
        logger: Logger
    ) async throws -> NATSServer {
        let binary: String
        if let given = configuration.natsServer {
            try Binaries.check(given, wayOut: "Correct NATS_SERVER, or leave it out and apt-get install nats-server")
            binary = given
        } else {
            binary = try Binaries.find("nats-server", package: "nats-server")
        }
        let folder = "\(configuration.dataFolder)/nats"
        try Files.makePrivateFolder(folder)
        let version = try await version(of: binary, folder: folder)
        let processFile = "\(folder)/nats-server.pid"
        let file = "\(folder)/nats.conf"
        try await Leftover.wait(file: processFile, mark: file, name: "nats-server")

        let port = try configuration.natsPort ?? Ports.free()
        try Ports.check(port, for: "NATS", option: "--nats-port")
        let text = NATSConfiguration(
            listen: "127.0.0.1:\(port)",
            storeFolder: "\(folder)/store",
            processFile: processFile,
            // Private accounts are for tests, whose data need not survive the machine.
            syncsAlways: version >= (2, 10) && configuration.privateAccounts == 0,
            users: configuration.services.users,
            privateAccounts: configuration.privateAccounts
        ).render()
        try Files.write(text, to: file, mode: 0o600)

        let users = configuration.services.users
        let variables = users.compactMap { user in passwords[user.user].map { (user.passwordVariable, $0) } }
        let log = "\(configuration.dataFolder)/logs/nats.log"
        Files.rotate(log)
        let command = Command(
            executable: binary,
            arguments: ["-c", file],
            environment: Dictionary(uniqueKeysWithValues: variables),
            deathSignal: "TERM",
            output: log
        )
        let server = SupervisedServer(name: "nats-server", command: command, stopSignals: [SIGTERM], logger: logger)
        // It greets only once JetStream has read its store.
        try await server.start(timeout: configuration.startTimeout) {
            await Blocking.run { Ports.greeting(of: port)?.hasPrefix("INFO ") ?? false }
        }
        logger.info("nats-server is ready", metadata: ["port": "\(port)", "version": "\(version.0).\(version.1)"])
        let probe = JetStreamProbe(port: port, user: "operator", password: passwords["operator"] ?? "")
        let watch = JetStreamWatch(server: server, probe: probe, logger: logger)
        return NATSServer(server: server, port: port, watch: Task { await watch.run() })
    }

    /// Major and minor version.
    private static func version(of binary: String, folder: String) async throws -> (Int, Int) {
        let output = "\(folder)/version"
        unlink(output)
        let status = try await ChildProcess.spawn(Command(executable: binary, arguments: ["--version"], output: output))
            .waitForExit()
        let text = try Files.read(output)
        // "nats-server: v2.9.10"
        let numbers = text.drop { !$0.isNumber }.split(separator: ".").prefix(2).compactMap { Int($0) }
        guard status == 0, numbers.count == 2, (numbers[0], numbers[1]) >= (2, 9) else {
            throw DevEnvironmentError(
                "\(binary) is no nats-server of version 2.9 or newer; it says: \(text)",
                wayOut: "apt-get install nats-server"
            )
        }
        return (numbers[0], numbers[1])
    }
}
