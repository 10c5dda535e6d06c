public import Foundation

/// Who is signed in: what a ``SessionStore`` stores.
public struct Session: Codable, Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// Goes into `Authorization`.
    public var accessToken: String
    /// Good for one new pair; nil for guests.
    public var refreshToken: String?
    /// When the access token ends, by the device's clock.
    public var expiresAt: Date
    /// The key under which the pair is exchanged. Stored with it, so that an exchange whose reply was lost is repeated rather than
    /// made a second time, also after a restart (AU-4).
    public var refreshKey: String

    /// A session.
    public init(accessToken: String, refreshToken: String?, expiresAt: Date, refreshKey: String) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.expiresAt = expiresAt
        self.refreshKey = refreshKey
    }

    /// Whose it is, as the access token says; nil for a token of another form.
    public var userID: UserID? {
        let parts = accessToken.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var text = parts[1].replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        while text.utf8.count % 4 != 0 { text += "=" }
        struct Claims: Decodable { var sub: String }
        return Data(base64Encoded: text).flatMap { try? JSONDecoder().decode(Claims.self, from: $0) }.map { UserID($0.sub) }
    }

    /// Without the tokens.
    public var description: String { "Session(user: \(userID?.rawValue ?? "unknown"), expiresAt: \(expiresAt))" }
    /// Without the tokens.
    public var customMirror: Mirror { Mirror(self, children: ["expiresAt": expiresAt]) }
}

/// Where the session is kept between launches.
public protocol SessionStore: Sendable {
    /// The stored session; nil when there is none.
    func load() async throws -> Session?
    /// Stores a session in place of the one before; nil removes it.
    func save(_ session: Session?) async throws
}

/// Keeps the session until the process ends.
public actor MemorySessionStore: SessionStore {
    private var session: Session?

    /// - Parameter session: to begin with.
    public init(_ session: Session? = nil) { self.session = session }

    public func load() -> Session? { session }
    public func save(_ session: Session?) { self.session = session }
}

/// Keeps the session in a file that only its owner may read. On Apple's systems use ``KeychainSessionStore``.
public actor FileSessionStore: SessionStore {
    private let file: URL

    /// - Parameter file: is made when there is something to store; its folder too.
    public init(_ file: URL) { self.file = file }

    public func load() throws -> Session? {
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        return try JSONDecoder().decode(Session.self, from: try Data(contentsOf: file))
    }

    public func save(_ session: Session?) throws {
        guard let session else {
            if FileManager.default.fileExists(atPath: file.path) { try FileManager.default.removeItem(at: file) }
            return
        }
        try DurableFile.write(try JSONEncoder().encode(session), to: file)
    }
}
