private import Synchronization

extension NatsServer {
    /// The address of an account of its own on one broker that all tests of this process share: `nats://world7:world7@127.0.0.1:4222`.
    ///
    /// Accounts share no subjects, streams or services, so each is as good as a broker. For tests that do not stop or freeze it.
    public static func account() async throws -> String {
        let number = usedAccounts.wrappingAdd(1, ordering: .relaxed).oldValue
        let (index, user) = (number / accountsOfServer, "world\(number % accountsOfServer)")
        let server = try await brokers.withLock { brokers in
            while brokers.count <= index { brokers.append(Task { try await start(configuration: accounts) }) }
            return brokers[index]
        }.value
        return server.url.replacing("nats://", with: "nats://\(user):\(user)@")
    }

    /// One broker is enough for most runs; the next is started when its accounts are used up.
    private static let accountsOfServer = 250
    private static let usedAccounts = Atomic(0)
    private static let brokers = Mutex<[Task<NatsServer, any Error>]>([])

    private static var accounts: String {
        let worlds = (0..<accountsOfServer).map { number in
            "world\(number): { jetstream: enabled, users: [{ user: world\(number), password: world\(number) }] }"
        }
        return "accounts {\n\(worlds.joined(separator: "\n"))\n}"
    }
}
