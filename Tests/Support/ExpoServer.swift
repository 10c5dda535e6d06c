import Foundation
import Processes
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
        }

        package let to: String
        package let title: String
        package let body: String
        package let data: Content
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
        /// 0: it did not answer.
        package let status: Int
        package let count: Int?
        /// In Unix time.
        package let at: Double
        package let authorization: String?
        /// The most connections that were open at once until then.
        package let most_open: Int
    }

    private struct State {
        var child: ChildProcess?
        var port = 0
    }

    private let folder: URL
    private let state = Mutex(State())

    private init(folder: URL) { self.folder = folder }

    deinit {
        let child = state.withLock { $0.child }
        child?.signal(SIGKILL)
        Task { [folder] in
            _ = await child?.waitForExit()
            try? FileManager.default.removeItem(at: folder)
        }
    }

    /// Starts one and waits until it listens.
    package static func start() async throws -> ExpoServer {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("expo-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let server = ExpoServer(folder: folder)
        try await server.start()
        return server
    }

    /// Starts it again after it was killed, on the same port; it knows no tickets then.
    package func start() async throws {
        let file = folder.appendingPathComponent("port")
        try? FileManager.default.removeItem(at: file)
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Expo/serve.py").path
        let child = try await ChildProcess.spawn(
            Command(
                executable: "/usr/bin/python3",
                arguments: [script, folder.path, "\(port)"],
                environment: Command.inherited(),
                output: folder.appendingPathComponent("log").path
            )
        )
        state.withLock { $0.child = child }
        let end = ContinuousClock.now.advanced(by: .seconds(60))
        while ContinuousClock.now < end, !child.hasExited {
            if let text = try? String(contentsOf: file, encoding: .utf8), let port = Int(text) {
                return state.withLock { $0.port = port }
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        let log = (try? String(contentsOf: folder.appendingPathComponent("log"), encoding: .utf8)) ?? ""
        throw PythonPackages.Failure(description: "the stand-in for Expo did not start: \(log)")
    }

    /// Kills it, and waits until it is gone.
    package func kill() async {
        let child = state.withLock { $0.child }
        child?.signal(SIGKILL)
        _ = await child?.waitForExit()
    }

    /// Says how it behaves from now on: JSON as in `Expo/serve.py`.
    package func behave(_ json: String) throws {
        try Data(json.utf8).write(to: folder.appendingPathComponent("control.json"), options: .atomic)
    }

    /// What it took, in order.
    package var pushes: [Push] { get throws { try lines("pushes.jsonl") } }

    /// What it was asked, in order.
    package var requests: [Request] { get throws { try lines("requests.jsonl") } }

    private func lines<Line: Decodable>(_ name: String) throws -> [Line] {
        guard let text = try? String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8) else { return [] }
        // The last line may be half written.
        let whole = text.lastIndex(of: "\n").map { text[..<$0] } ?? ""
        return try whole.split(separator: "\n").map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
    }

    package var port: Int { state.withLock { $0.port } }
    package var url: String { "http://127.0.0.1:\(port)" }
}
