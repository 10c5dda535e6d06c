/// Where a method is, and how its bodies travel. Made by the generator.
public struct Route: Sendable, Hashable {
    /// Who may call a method.
    public enum Auth: Sendable, Hashable {
        /// Any caller.
        case none
        /// Guests too.
        case guest
        /// Signed-in users.
        case user
        /// Administrators.
        case admin
    }

    /// What of a request is its JSON body.
    public enum Body: Sendable, Hashable {
        /// Nothing: all fields that are not in the path are in the query.
        case none
        /// All fields that are not in the path.
        case all
        /// One field; the others are in the query.
        case field(String)
    }

    /// What a JSON reply looks like.
    public enum Form: Sendable, Hashable {
        /// `data` is the reply; its fields `meta` and `message` lie beside it.
        case envelope
        /// The document is the reply.
        case bare
        /// The document is the reply, with fields `data`, `meta` and `message`.
        case whole
    }

    /// Service and method: `Snaps.UploadSnap`.
    public let name: String
    /// GET, POST, PUT, PATCH or DELETE.
    public let verb: String
    /// With variables: `/api/streaks/{streak_id}`.
    public let path: String
    /// What of the request is its body.
    public let body: Body
    /// Who may call it.
    public let auth: Auth
    /// How long the server may take.
    public let timeout: Duration
    /// The part of a multipart form that is a file; nil for a method that takes none.
    public let part: String?
    /// Headers and the request's fields that fill them.
    public let headers: [String: String]
    /// What the reply looks like.
    public let form: Form

    /// A route.
    public init(
        name: String,
        verb: String,
        path: String,
        body: Body = .none,
        auth: Auth,
        timeout: Duration = .seconds(10),
        part: String? = nil,
        headers: [String: String] = [:],
        form: Form = .envelope
    ) {
        self.name = name
        self.verb = verb
        self.path = path
        self.body = body
        self.auth = auth
        self.timeout = timeout
        self.part = part
        self.headers = headers
        self.form = form
    }

    /// Whether it changes something, and so has an `Idempotency-Key`.
    public var isMutation: Bool { verb != "GET" }
}
