public import Foundation

/// The API of one StreakSnap server for one user at a time.
///
/// ```swift
/// let streaksnap = StreakSnap(url: url, sessions: KeychainSessionStore(service: "com.example.app"))
/// try await streaksnap.accounts.login(email: email, password: password)
/// let reply = try await streaksnap.snaps.uploadSnap(photo: .file(photo), streakIDs: ["all"])
/// for try await event in streaksnap.events() { … }
/// ```
///
/// Methods are grouped by service: ``friends``, ``snaps``, ``mutual`` and so on. Each carries the session's token, is sent again
/// when that is safe, and throws ``StreakSnapError``. Those of administrators are under ``admin``.
public final class StreakSnap: Sendable {
    /// How a client behaves.
    public struct Settings: Sendable {
        /// When a request that failed is sent again.
        public var retries: RetryPolicy
        /// Names the app and its release to the server.
        public var userAgent: String
        /// Where forms lie while they are sent.
        public var temporaryFolder: URL
        /// Called when a user has signed in or out, with the new session.
        public var sessionChanged: (@Sendable (Session?) -> Void)?

        /// Settings.
        public init(
            retries: RetryPolicy = RetryPolicy(),
            userAgent: String = "StreakSnapClient/1",
            temporaryFolder: URL = FileManager.default.temporaryDirectory,
            sessionChanged: (@Sendable (Session?) -> Void)? = nil
        ) {
            self.retries = retries
            self.userAgent = userAgent
            self.temporaryFolder = temporaryFolder
            self.sessionChanged = sessionChanged
        }
    }

    /// Where the server is.
    public let url: URL
    let transport: any Transport
    let sessions: Sessions
    let settings: Settings
    let surroundings: Surroundings

    /// - Parameters:
    ///   - url: of the server, `https://api.example.com`.
    ///   - sessions: where tokens are kept between launches.
    ///   - transport: what sends; by default `URLSession`.
    ///   - settings: retries, names, folders.
    public convenience init(
        url: URL,
        sessions: any SessionStore = MemorySessionStore(),
        transport: any Transport = URLSessionTransport(),
        settings: Settings = Settings()
    ) {
        self.init(url: url, sessions: sessions, transport: transport, settings: settings, surroundings: Surroundings())
    }

    init(url: URL, sessions: any SessionStore, transport: any Transport, settings: Settings, surroundings: Surroundings) {
        self.url = url
        self.transport = transport
        self.sessions = Sessions(sessions, changed: settings.sessionChanged)
        self.settings = settings
        self.surroundings = surroundings
    }

    /// Who is signed in; nil without a session.
    public var session: Session? { get async throws { try await sessions.current() } }

    /// Removes the session from the device. The server does not learn of it; see `accounts.logout`.
    public func dropSession() async throws { try await sessions.set(nil) }

    /// Methods of administrators.
    public var admin: AdminMethods { AdminMethods(client: self) }

    // MARK: calls

    // None is compiled anew for each of the methods: that made the client a quarter larger, and its compilation as much longer.

    /// Calls a method.
    ///
    /// - Throws: ``StreakSnapError``, `CancellationError`.
    @discardableResult
    @_semantics("optimize.sil.specialize.generic.never")
    public func call<Request, Reply>(
        _ endpoint: Endpoint<Request, Reply>,
        _ request: Request,
        options: CallOptions = .standard
    ) async throws -> Reply {
        try await perform(endpoint, try PreparedRequest(endpoint.route, request), Extras(), options)
    }

    /// Calls a method that takes a file.
    @discardableResult
    @_semantics("optimize.sil.specialize.generic.never")
    public func call<Request, Reply>(
        _ endpoint: Endpoint<Request, Reply>,
        _ request: Request,
        file: UploadFile?,
        options: CallOptions = .standard,
        progress: UploadProgress.Handler? = nil
    ) async throws -> Reply {
        let prepared = try PreparedRequest(endpoint.route, request)
        return try await perform(endpoint, prepared, Extras(file: file, progress: progress), options)
    }

    /// Calls a method whose body is not JSON.
    @discardableResult
    @_semantics("optimize.sil.specialize.generic.never")
    public func call<Request, Reply>(
        _ endpoint: Endpoint<Request, Reply>,
        _ request: Request,
        data: Data,
        contentType: String,
        options: CallOptions = .standard
    ) async throws -> Reply {
        let prepared = try PreparedRequest(endpoint.route, request, raw: (data, contentType))
        return try await perform(endpoint, prepared, Extras(), options)
    }

    /// Calls a method that answers with a file.
    @discardableResult
    @_semantics("optimize.sil.specialize.generic.never")
    public func call<Request>(
        _ endpoint: Endpoint<Request, FileReply>,
        _ request: Request,
        to destination: URL?,
        options: CallOptions = .standard
    ) async throws -> FileReply {
        try await perform(endpoint, try PreparedRequest(endpoint.route, request), Extras(destination: destination), options)
    }

    @_semantics("optimize.sil.specialize.generic.never")
    private func perform<Request, Reply>(
        _ endpoint: Endpoint<Request, Reply>,
        _ prepared: PreparedRequest,
        _ extras: Extras,
        _ options: CallOptions
    ) async throws -> Reply {
        let reply = try await send(prepared, endpoint.route, extras, options)
        // A registration that goes on by mail: there are no tokens yet.
        if reply.status == 202, Reply.self is any TokenReply.Type {
            throw StreakSnapError(
                kind: .refused,
                code: .checkMail,
                message: "A mail says what comes next.",
                status: reply.status,
                requestID: reply.headers["x-request-id"]
            )
        }
        let value = try endpoint.value(of: reply)
        if let tokens = value as? any TokenReply { try await sessions.set(session(tokens)) }
        if Self.endingMethods.contains(endpoint.route.name) { try await sessions.set(nil) }
        return value
    }

    /// After these the session is over.
    private static let endingMethods: Set<String> = ["Accounts.Logout", "Accounts.DeleteAccount"]

    func session(_ reply: any TokenReply) -> Session {
        Session(
            accessToken: reply.tokens.access,
            refreshToken: reply.tokens.refresh,
            expiresAt: surroundings.now().addingTimeInterval(Double(reply.tokens.expiresIn)),
            refreshKey: surroundings.name()
        )
    }
}

/// Methods of administrators.
public struct AdminMethods: Sendable {
    let client: StreakSnap
}
