import Foundation
import Synchronization
import Testing

@testable import StreakSnapClient

@Suite(.timeLimit(.minutes(5))) struct QueueTests {
    private static let snap = #"{"snap":{"id":"s","user_id":"u"},"streaks":[]}"#

    @Test func `what waits survives a restart, and is sent in its order under its keys`() async throws {
        let folder = try Folder()
        let isAway = Mutex(true)
        let server = try LocalServer { _, _ in isAway.withLock { $0 } ? .drop : success(Self.snap) }
        let photo = folder.url.appendingPathComponent("photo.jpg")
        try Data("first".utf8).write(to: photo)
        let home = folder.url.appendingPathComponent("queue")
        let taken = Date(timeIntervalSince1970: 1_767_323_045)
        do {
            let queue = try OfflineQueue(client: try .test(server, store: MemorySessionStore(.of("ada"))), folder: home)
            try await queue.addSnap(photo: photo, streakIDs: ["st-1"], caption: "One", capturedAt: taken)
            try await queue.add(Social.FriendsEndpoints.nudge, Social.NudgeRequest(friendID: "ben"))
            try Data("second".utf8).write(to: photo)
            try await queue.addSnap(photo: photo, streakIDs: ["st-1"], caption: "Two")
            #expect(try await queue.flush().isEmpty)
            #expect(await queue.waiting.map(\.method) == ["Snaps.UploadSnap", "Friends.Nudge", "Snaps.UploadSnap"])
        }
        try FileManager.default.removeItem(at: photo)
        // The app was ended while it stored a change.
        try Data().write(to: home.appendingPathComponent("left.file"))
        isAway.withLock { $0 = false }
        let tries = server.requests.count
        let queue = try OfflineQueue(client: try .test(server, store: MemorySessionStore(.of("ada"))), folder: home)
        let waiting = await queue.waiting
        #expect(waiting.count == 3)
        #expect(!FileManager.default.fileExists(atPath: home.appendingPathComponent("left.file").path))
        let outcomes = try await queue.flush()
        #expect(outcomes.map(\.change.id) == waiting.map(\.id))
        let sent = server.requests[tries...]
        #expect(sent.map { $0.headers["idempotency-key"] } == waiting.map(\.id))
        #expect(server.requests[0].headers["idempotency-key"] == waiting[0].id)
        let first = try Form.parts(of: try #require(sent.first))
        #expect(first.contains { $0.name == "captured_at" && $0.body == Data("2026-01-02T03:04:05Z".utf8) })
        #expect(first.last?.body == Data("first".utf8))
        #expect(try Form.parts(of: try #require(sent.last)).last?.body == Data("second".utf8))
        #expect(await queue.waiting.isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: home.path).isEmpty)
    }

    @Test func `what the server refuses leaves the queue, and those after it are sent`() async throws {
        let server = try LocalServer { _, count in count == 0 ? refusal(409, "ALREADY_NUDGED") : success("{}") }
        let folder = try Folder()
        let queue = try OfflineQueue(client: try .test(server), folder: folder.url)
        for friend in ["ben", "cleo"] {
            try await queue.add(Social.FriendsEndpoints.nudge, Social.NudgeRequest(friendID: UserID(friend)))
        }
        let outcomes = try await queue.flush()
        #expect(outcomes.count == 2)
        guard case .refused(let error) = outcomes[0].result else { throw error("the first is refused") }
        #expect(error.code?.rawValue == "ALREADY_NUDGED")
        guard case .done = outcomes[1].result else { throw self.error("the second is made") }
    }

    private func error(_ text: String) -> StreakSnapError { StreakSnapError(kind: .badReply, message: text) }

    @Test func `what one user has added is not sent as another`() async throws {
        let server = try LocalServer { _, _ in success("{}") }
        let folder = try Folder()
        let ada = try OfflineQueue(client: try .test(server, store: MemorySessionStore(.of("ada"))), folder: folder.url)
        try await ada.add(Social.FriendsEndpoints.nudge, Social.NudgeRequest(friendID: "cleo"))
        let ben = try OfflineQueue(client: try .test(server, store: MemorySessionStore(.of("ben"))), folder: folder.url)
        #expect(try await ben.flush().isEmpty)
        #expect(server.requests.isEmpty)
        #expect(await ben.waiting.count == 1)
        await ben.remove(await ben.waiting[0].id)
        let later = try OfflineQueue(client: try .test(server), folder: folder.url)
        #expect(await later.waiting.isEmpty)
    }

    @Test func `only changes can wait`() async throws {
        let server = try LocalServer { _, _ in success("{}") }
        let folder = try Folder()
        let queue = try OfflineQueue(client: try .test(server), folder: folder.url)
        await #expect(throws: StreakSnapError.self) { try await queue.add(Media.SnapsEndpoints.getFeed, Media.GetFeedRequest()) }
        #expect(await queue.waiting.isEmpty)
    }
}
