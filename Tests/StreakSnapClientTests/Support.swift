import Foundation
import Synchronization
import Testing

@testable import StreakSnapClient

/// Pauses that the client made, which take no time here.
final class Pauses: Sendable {
    /// Of all tests: their files lie in one folder.
    private static let names = Mutex(0)
    private let all = Mutex<[Duration]>([])
    var list: [Duration] { all.withLock { $0 } }

    /// Surroundings whose pauses are noted, with chance and names of their own.
    func surroundings(now: Date = Date(timeIntervalSince1970: 1_790_000_000)) -> Surroundings {
        return Surroundings(
            now: { now },
            fraction: { 0.5 },
            name: { "name-\(Self.names.withLock { $0 += 1; return $0 })" },
            sleep: { pause in
                self.all.withLock { $0.append(pause) }
                try Task.checkCancellation()
            }
        )
    }
}

extension StreakSnap {
    /// A client of a local server; with a session unless a test says otherwise.
    static func test(
        _ server: LocalServer,
        pauses: Pauses = Pauses(),
        store: any SessionStore = MemorySessionStore(.test()),
        settings: Settings = Settings(retries: RetryPolicy(attempts: 4))
    ) throws -> StreakSnap {
        StreakSnap(
            url: try server.url,
            sessions: store,
            transport: URLSessionTransport(),
            settings: settings,
            surroundings: pauses.surroundings()
        )
    }
}

extension Session {
    /// A session whose access token is good for an hour.
    static func test(_ access: String = "access-1", refresh: String? = "refresh-1", left: Double = 3_600) -> Session {
        Session(
            accessToken: access,
            refreshToken: refresh,
            expiresAt: Date(timeIntervalSince1970: 1_790_000_000 + left),
            refreshKey: "key-of-\(access)"
        )
    }

    /// The session of a user, by a token that says so.
    static func of(_ user: String) -> Session {
        let claims = Data("{\"sub\":\"\(user)\"}".utf8).base64EncodedString().replacingOccurrences(of: "=", with: "")
        return .test("e30.\(claims).c2ln")
    }
}

/// A refusal as the gateway writes it.
///
/// - Parameter reason: nil for the same as the code.
func refusal(
    _ status: Int,
    _ code: String,
    reason: String? = nil,
    details: String = "[]",
    headers: [String: String] = [:]
) -> LocalServer.Answer {
    let words = "\"code\":\"\(code)\",\"reason\":\"\(reason ?? code)\""
    return .reply(
        status,
        """
        {"success":false,"error":{\(words),"message":"No.","details":\(details)},"meta":{"request_id":"r-1"}}
        """,
        headers: headers
    )
}

/// A success as the gateway writes it.
func success(_ data: String, meta: String = "{\"request_id\":\"r-1\"}") -> LocalServer.Answer {
    .reply(200, "{\"success\":true,\"data\":\(data),\"meta\":\(meta)}")
}

/// A folder that is removed with the last reference.
final class Folder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("streaksnap-client-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }
}
