import Foundation
import Synchronization

/// A stand-in for Expo's push service in a process of its own (`Expo/serve.py`, which says what it can do); it ends with this process or when
/// it is released.
package final class ExpoServer: Sendable {
    /// A push that it took.
    package struct Push: Decodable, Sendable {
        package struct Content: Decodable, Sendable {
            package let type: String
            package let notification_id: String
            package let deep_link: String
            package let streak_id: String?
            package let streakType: String?
            package let currentStreak: Int?
            package let hoursRemaining: Int?
            package let milestone: Int?
            package let habit_id: String?
            package let date: String?
            package let reminder_number: Int?
            package let icon: String?
        }

        package let to: String
        package let title: String
        package let body: String
        package let data: Content
        package let sound: String?
        package let categoryId: String?
        package let badge: Int
        package let ttl: Int
        package let priority: String
        package let channelId: String
        package let collapseId: String
        package let tag: String
    }

    /// A request that it got.
    package struct Request: Decodable, Sendable {
        package let path: String
        /// How it behaved, as in `Expo/serve.py`.
        package let mode: String
        /// 0: it did not answer.
        package let status: Int
        package let count: Int?
        /// In Unix time.
        package let at: Double
        package let authorization: String?
        /// The most connections that were open at once until then.
        package let most_open: Int
    }

    private let process: StandIn
    private let listening = Mutex(0)

    private init(process: StandIn) { self.process = process }

    /// Starts one and waits until it listens.
    package static func start() async throws -> ExpoServer {
        let server = ExpoServer(process: try await StandIn("expo"))
        try await server.start()
        return server
    }

    /// Starts it again after it was killed, on the same port; it knows no tickets then.
    package func start() async throws {
        let report = try await process.start("Expo/serve.py", [process.folder.path, "\(port)"], ready: "port")
        listening.withLock { $0 = Int(String(decoding: report, as: UTF8.self)) ?? 0 }
    }

    /// Kills it, and waits until it is gone.
    package func kill() async { await process.kill() }

    /// Says how it behaves from now on: JSON as in `Expo/serve.py`.
    package func behave(_ json: String) throws {
        try Data(json.utf8).write(to: process.file("control.json"), options: .atomic)
    }

    /// What it took, in order.
    package var pushes: [Push] { get throws { try lines("pushes.jsonl") } }

    /// What it was asked, in order.
    package var requests: [Request] { get throws { try lines("requests.jsonl") } }

    private func lines<Line: Decodable>(_ name: String) throws -> [Line] {
        guard let text = try? String(contentsOf: process.file(name), encoding: .utf8) else { return [] }
        // The last line may be half written.
        let whole = text.lastIndex(of: "\n").map { text[..<$0] } ?? ""
        return try whole.split(separator: "\n").map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
    }

    package var port: Int { listening.withLock { $0 } }
    package var url: String { "http://127.0.0.1:\(port)" }
}
