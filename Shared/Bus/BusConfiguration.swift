public import Kernel

/// How to reach the broker.
public struct BusConfiguration: Sendable {
    /// Files for TLS, all PEM.
    public struct TLS: Sendable {
        /// The trusted certificate authorities; nil: the system's.
        public var authoritiesFile: String?
        /// The client certificate and chain, if the broker requires one.
        public var certificateFile: String?
        /// The key of the client certificate.
        public var keyFile: String?
        /// The name in the broker's certificate; nil: the host of the URL.
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

    /// `nats://127.0.0.1:4222`; several servers of one cluster with commas between them, of which any may be away.
    public var url: String
    /// The servers in `url`.
    public var servers: [String] {
        url.split(separator: ",").map { part in
            String(part.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }
        .filter { !$0.isEmpty }
    }
    /// The name of this connection in the broker's monitoring.
    public var name: String
    /// A user of the broker, with `password`.
    public var user: String?
    /// The user's password.
    public var password: String?
    /// A token instead of a user.
    public var token: String?
    /// A `.creds` file instead of a user.
    public var credentialsFile: String?
    /// The prefix of subjects for replies: `_INBOX` or below it, because services reply nowhere else. Each user of the broker has
    /// its own, so that no user can read another's replies (D9).
    public var inboxPrefix: String
    /// Seals the principals of what is called; nil for services, which pass on what they got.
    public var sealer: Sealer?
    /// TLS, if the broker requires it.
    public var tls: TLS?
    /// How long `connect` keeps trying. Once connected, it reconnects without limit. Default 30 s.
    public var connectTimeout: Interval
    /// The pause between attempts to reconnect. Default 250 ms, plus up to 100 ms of jitter.
    public var reconnectWait: Interval
    /// For this long after a reconnect, a request without responders is retried until its deadline, because responders reconnect at
    /// the same time. Default 2 s.
    public var reconnectGrace: Interval

    /// A configuration with defaults for all but the address.
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
        reconnectGrace: Interval = .seconds(2)
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
    }
}
