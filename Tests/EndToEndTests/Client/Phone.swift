import Foundation
import StreakSnapClient
import Testing

/// A user's phone: the client library and its queue, and nothing else.
struct Phone {
    let streaksnap: StreakSnap
    let user: UserID
    let username: String
    let folder: URL
    private(set) var queue: OfflineQueue

    /// A new user who has accepted the terms.
    ///
    /// - Parameters:
    ///   - name: begins the username.
    ///   - port: of the gateway, or of what lies before it.
    ///   - folder: of the phone's own files.
    static func register(_ name: String, port: UInt16, folder: URL) async throws -> Phone {
        let url = try #require(URL(string: "http://127.0.0.1:\(port)"))
        let home = folder.appending(path: name)
        let streaksnap = StreakSnap(
            url: url,
            sessions: FileSessionStore(home.appending(path: "session.json")),
            settings: StreakSnap.Settings(
                retries: RetryPolicy(attempts: 40, base: .milliseconds(5), most: .milliseconds(200)),
                temporaryFolder: home.appending(path: "tmp")
            )
        )
        let username = Person.unique(name)
        let reply = try await streaksnap.accounts.register(
            email: "\(username)@example.com",
            password: "correct-horse-battery",
            username: username,
            displayName: name,
            timeZone: "UTC"
        )
        try await streaksnap.profiles.acceptTerms(version: "2026-01")
        return Phone(
            streaksnap: streaksnap,
            user: reply.user.id,
            username: username,
            folder: home,
            queue: try OfflineQueue(client: streaksnap, folder: home.appending(path: "queue"))
        )
    }

    /// The app is ended and launched again.
    mutating func restart() throws {
        queue = try OfflineQueue(client: streaksnap, folder: folder.appending(path: "queue"))
    }

    /// A photo of its own for each seed.
    func photo(_ seed: UInt64) throws -> URL {
        let file = folder.appending(path: "photo-\(seed).jpg")
        try Data(try Photos.jpeg(seed)).write(to: file)
        return file
    }

    /// Becomes friends with another user. - Returns: the streak that begins.
    func befriend(_ friend: Phone) async throws -> StreakID {
        let asked = try await streaksnap.friends.sendFriendRequest(username: friend.username)
        let friendship = asked.friendshipID
        let accepted = try await friend.streaksnap.friends.respondToFriendRequest(friendshipID: friendship, action: .accept)
        return try #require(accepted.streak?.streakID)
    }
}
