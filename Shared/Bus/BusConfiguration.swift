public import Kernel

/// How to reach the broker.
public struct BusConfiguration: Sendable {
    /// Files for TLS, all PEM.
    public struct TLS: Sendable {
        /// The authorities to trust; nil trusts the system's.
        public var authoritiesFile: String?
        /// Our own certificate and chain, where the broker asks for one.
        public var certificateFile: String?
        /// The key of our certificate.
        public var keyFile: String?
        /// The name the broker's certificate must carry; nil takes the host of the URL.
        public var expectedHostname: String?

        /// TLS with these files.
        public init(
            authoritiesFile: String? = nil,
            certificateFile: String? = nil,
            keyFile: String? = nil,
            expectedHostname: String? = nil
        ) {
            self.authoritiesFile = authoritiesFile
            self.certificateFile = certificateFile
            self.keyFile = keyFile
            self.expectedHostname = expectedHostname
        }
    }

    /// `nats://127.0.0.1:4222`; several servers of one cluster with commas between them.
    public var url: String
    /// What the broker's monitoring calls this connection.
    public var name: String
    /// A user of the broker, with `password`.
    public var user: String?
    /// The user's password.
    public var password: String?
    /// A token instead of a user.
    public var token: String?
    /// A `.creds` file instead of a user.
    public var credentialsFile: String?
    /// Under what replies arrive: `_INBOX` or below it, since services answer nowhere else. Each user of the broker has its own, so that
    /// no one reads another's replies (D9).
    public var inboxPrefix: String
    /// TLS, when the broker asks for it.
    public var tls: TLS?
    /// How long `connect` keeps trying; afterwards a connection heals for ever. Default 30 s.
    public var connectTimeout: Interval
    /// The pause between attempts to reconnect. Default 250 ms, plus up to 100 ms of jitter.
    public var reconnectWait: Interval
    /// For this long after a reconnect "nobody listens" is tried again until the deadline, because responders need the same time to
    /// come back. Default 2 s.
    public var reconnectGrace: Interval

    /// How many threads deliver the messages of all connections of the process that set this; nil gives each subscription its own
    /// thread, which answers a single request sooner. Set it where many services share a process. Default nil.
    public var deliveryThreads: Int?

    /// A configuration with defaults for everything but the address.
    public init(
        url: String,
        name: String = "streaksnap",
        user: String? = nil,
        password: String? = nil,
        token: String? = nil,
        credentialsFile: String? = nil,
        inboxPrefix: String = "_INBOX",
        tls: TLS? = nil,
        connectTimeout: Interval = .seconds(30),
        reconnectWait: Interval = .milliseconds(250),
        reconnectGrace: Interval = .seconds(2),
        deliveryThreads: Int? = nil
    ) {
        self.url = url
        self.name = name
        self.user = user
        self.password = password
        self.token = token
        self.credentialsFile = credentialsFile
        self.inboxPrefix = inboxPrefix
        self.tls = tls
        self.connectTimeout = connectTimeout
        self.reconnectWait = reconnectWait
        self.reconnectGrace = reconnectGrace
        self.deliveryThreads = deliveryThreads
    }
}
