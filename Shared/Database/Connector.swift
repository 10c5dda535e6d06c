internal import CPostgres
internal import Glibc

/// Makes connections. It blocks, also for name resolution, so it runs on a thread of its own, never on the loop's.
struct Connector: Sendable {
    /// A new connection in pipeline mode, passed to the loop. `@unchecked Sendable`: only one thread holds it at a time.
    struct Handle: @unchecked Sendable {
        let connection: OpaquePointer

        /// Closes it when it is not needed.
        func close() { PQfinish(connection) }
    }

    private let before: [(String, String)]
    private let connectionString: String
    private let after: [(String, String)]

    /// - Throws: `DatabaseError` `configuration` when libpq cannot read the connection string.
    init(_ configuration: DatabaseConfiguration) throws(DatabaseError) {
        // Options of the connection string come later, so that an operator can override them.
        var options = Self.planning + (try Self.options(of: configuration.connectionString))
        // In the startup packet, so that they are the session's defaults, which `RESET ALL` restores.
        options += " -c search_path=\(configuration.schema) -c TimeZone=UTC"
        options += " -c statement_timeout=\(configuration.statementTimeout.wholeMilliseconds)"
        options += " -c idle_in_transaction_session_timeout=\(configuration.idleInTransactionTimeout.wholeMilliseconds)"
        connectionString = configuration.connectionString
        // The connection string overrides what comes before, and not what comes after.
        before = [
            ("connect_timeout", String(configuration.connectTimeout.seconds)), ("keepalives_idle", "30"),
            ("keepalives_interval", "10"),
            ("keepalives_count", "3"), ("tcp_user_timeout", "30000"),
        ]
        after = [("application_name", configuration.applicationName), ("client_encoding", "UTF8"), ("options", options)]
    }

    /// Connects, or returns the reason for the failure, without secrets.
    func connect() -> Result<Handle, Refusal> {
        let parameters = before + [("dbname", connectionString)] + after
        let texts = parameters.map { (strdup($0.0), strdup($0.1)) }
        defer {
            for (keyword, value) in texts {
                free(keyword)
                free(value)
            }
        }
        let keywords = texts.map { UnsafePointer($0.0) } + [nil]
        let values = texts.map { UnsafePointer($0.1) } + [nil]
        guard let connection = PQconnectdbParams(keywords, values, 1) else { return .failure(Refusal(reason: "out of memory")) }
        guard PQstatus(connection) == CONNECTION_OK else {
            let reason = PQerrorMessage(connection).map { String(cString: $0) } ?? ""
            PQfinish(connection)
            return .failure(Refusal(reason: reason))
        }
        _ = PQsetNoticeProcessor(connection, ignoreNotice, nil)
        guard PQsetnonblocking(connection, 1) == 0, PQenterPipelineMode(connection) == 1 else {
            PQfinish(connection)
            return .failure(Refusal(reason: "no pipeline mode"))
        }
        return .success(Handle(connection: connection))
    }

    /// Why connecting failed.
    struct Refusal: Error {
        let reason: String

        /// Whether no answer came: the attempt ended by its own limit, or by the kernel's. libpq has no code for that. Its texts are
        /// English unless a program sets its locale, which ours do not; those of the kernel are in the same language.
        var isSilence: Bool {
            reason.contains("timeout expired")
                || [ETIMEDOUT, EHOSTUNREACH, EHOSTDOWN, ENETUNREACH].contains { reason.contains(String(cString: strerror($0))) }
        }
    }

    /// Statements find their rows by index, whatever the statistics say. Those of a young table say that it is empty, and a plan
    /// made from them keeps scanning the whole table after it has grown. Plans are made once for each connection, not for each
    /// length of an array, because planning takes longer than most statements. Without sequential scans some plans have a high
    /// estimated cost, and JIT would compile them for a second.
    private static let planning = "-c enable_seqscan=off -c plan_cache_mode=force_generic_plan -c jit=off "

    /// The `options` in a connection string.
    private static func options(of connectionString: String) throws(DatabaseError) -> String {
        var message: UnsafeMutablePointer<CChar>?
        guard let parsed = PQconninfoParse(connectionString, &message) else {
            // The message quotes the string, which may hold a password.
            PQfreemem(message)
            throw DatabaseError(.configuration, detail: "connection string")
        }
        defer { PQconninfoFree(parsed) }
        var option = parsed
        while let keyword = option.pointee.keyword {
            if String(cString: keyword) == "options" { return option.pointee.val.map { String(cString: $0) } ?? "" }
            option += 1
        }
        return ""
    }
}

/// Notices may contain values, and libpq would write them to stderr.
private func ignoreNotice(_: UnsafeMutableRawPointer?, _: UnsafePointer<CChar>?) {}
