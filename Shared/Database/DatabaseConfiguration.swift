public import Kernel

/// Address and limits of the database. All limits are for one `Database`, that is for one process and schema.
public struct DatabaseConfiguration: Sendable {
    /// A libpq connection string or URI. It has the password, so it is never logged.
    public var connectionString: String
    /// The schema of unqualified names: 1…63 of `a–z 0–9 _`, not beginning with a digit.
    public var schema: String
    /// Shown by `pg_stat_activity`.
    public var applicationName: String
    /// Connections to the server, 1…200; default 8.
    public var poolSize: Int
    /// Time limit of one statement on the server; default 10 s, at least 1 ms.
    public var statementTimeout: Interval
    /// How long a transaction may be idle between statements before the server closes its connection; default 5 s: a replica that is
    /// frozen in the middle of a transaction must not hold its locks for longer.
    public var idleInTransactionTimeout: Interval
    /// How long a statement or transaction waits for a connection; default 5 s. While no connection is up it is at most `reconnectWait`.
    public var acquireTimeout: Interval
    /// How long a statement or transaction waits while no connection is up and it is not known yet whether the server can be reached;
    /// default 1 s. Once an attempt to connect has failed, it waits no longer.
    public var reconnectWait: Interval
    /// How long the server may say nothing, while an answer is awaited, before it is asked for a further connection; default 1 s.
    public var silenceBeforeProbe: Interval
    /// How long the server has for that. Then it counts as away, and all connections are closed. Default 2 s.
    public var probeTimeout: Interval
    /// How long one attempt to connect may take, in whole seconds, at least 2 (libpq's granularity); default 5 s.
    public var connectTimeout: Interval
    /// The longest pause between two attempts to connect; default 1 s. The first pause is 50 ms, each next one twice as long.
    public var maximumReconnectDelay: Interval
    /// Statements and transactions that may wait for a connection; further ones fail at once. Default 10,000.
    public var maximumWaiting: Int
    /// Statements in flight on one shared connection; further ones wait. Default 64.
    public var maximumInFlight: Int
    /// Prepared statements kept for each connection; the least recently used is dropped first. Default 256.
    public var statementCacheSize: Int
    /// How long `stop` waits for running statements; default 10 s.
    public var stopTimeout: Interval

    /// A configuration with the defaults above.
    public init(
        connectionString: String,
        schema: String,
        applicationName: String = "streaksnap",
        poolSize: Int = 8,
        statementTimeout: Interval = .seconds(10)
    ) {
        self.connectionString = connectionString
        self.schema = schema
        self.applicationName = applicationName
        self.poolSize = poolSize
        self.statementTimeout = statementTimeout
        idleInTransactionTimeout = .seconds(5)
        acquireTimeout = .seconds(5)
        connectTimeout = .seconds(5)
        reconnectWait = .seconds(1)
        silenceBeforeProbe = .seconds(1)
        probeTimeout = .seconds(2)
        maximumReconnectDelay = .seconds(1)
        maximumWaiting = 10_000
        maximumInFlight = 64
        statementCacheSize = 256
        stopTimeout = .seconds(10)
    }

    /// Connections reserved for single statements.
    var minimumShared: Int { max(1, poolSize / 4) }

    /// - Throws: `DatabaseError` `configuration` naming the invalid setting.
    func validate() throws(DatabaseError) {
        func require(_ condition: Bool, _ what: String) throws(DatabaseError) {
            guard condition else { throw DatabaseError(.configuration, detail: what) }
        }
        let name = Array(schema.utf8)
        let isDigit: (UInt8) -> Bool = { $0 >= 48 && $0 <= 57 }
        try require((1...63).contains(name.count) && name.first.map { !isDigit($0) } == true, "schema")
        try require(name.allSatisfy { ($0 >= 97 && $0 <= 122) || isDigit($0) || $0 == 95 }, "schema")
        try require(!connectionString.utf8.contains(0) && !applicationName.utf8.contains(0), "NUL in a text")
        try require((1...200).contains(poolSize), "poolSize")
        // The server stores milliseconds in 31 bits.
        let timeouts = Interval.milliseconds(1)...Interval.milliseconds(Int64(Int32.max))
        try require(timeouts.contains(statementTimeout), "statementTimeout")
        try require(timeouts.contains(idleInTransactionTimeout), "idleInTransactionTimeout")
        try require(timeouts.contains(acquireTimeout), "acquireTimeout")
        try require(timeouts.contains(reconnectWait), "reconnectWait")
        try require(timeouts.contains(silenceBeforeProbe), "silenceBeforeProbe")
        try require(timeouts.contains(probeTimeout), "probeTimeout")
        try require(timeouts.contains(maximumReconnectDelay), "maximumReconnectDelay")
        try require(timeouts.contains(stopTimeout), "stopTimeout")
        try require((Interval.seconds(2)...Interval.seconds(600)).contains(connectTimeout), "connectTimeout")
        try require((1...1_000_000).contains(maximumWaiting), "maximumWaiting")
        try require((1...10_000).contains(maximumInFlight), "maximumInFlight")
        try require((1...10_000).contains(statementCacheSize), "statementCacheSize")
    }
}

/// The state of the pool at one instant.
public struct DatabaseHealth: Sendable, Equatable {
    /// Connections that are up.
    public var connections = 0
    /// Connections in use: with a transaction, a session, or statements in flight.
    public var busy = 0
    /// Connections that a transaction or session holds.
    public var leased = 0
    /// Statements sent and not yet answered.
    public var inFlight = 0
    /// Statements and transactions that wait for a connection.
    public var waiting = 0
    /// Connections that died since the start.
    public var connectionsLost = 0
    /// Failed attempts to connect since the last success.
    public var failedAttempts = 0
    /// Whether the server refused a statement in the last 10 s for want of something: disk, memory (`DatabaseError.isServerUnable`).
    public var isExhausted = false

    /// A pool without connections.
    public init() {}

    /// Whether a statement would be sent now.
    public var isAvailable: Bool { connections > 0 }

    /// Whether a statement would be sent now, and the server refused none lately for want of disk or memory.
    public var isWell: Bool { isAvailable && !isExhausted }
}

extension Interval {
    /// In milliseconds, rounded up: a limit is never shortened.
    var wholeMilliseconds: Int64 { (microseconds + 999) / 1000 }

    /// In nanoseconds; 0 when negative.
    var nanoseconds: UInt64 { UInt64(max(0, microseconds)) * 1000 }
}
