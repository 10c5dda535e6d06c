import Foundation
import Processes

/// A stand-in for RevenueCat's REST API, in a process of its own; it ends with this process or when it is released.
package final class RevenueCatServer: Sendable {
    /// How it behaves.
    package enum Mode: String, CaseIterable, Sendable {
        case ok, fail, garbage, cut, hang
    }

    /// It did not start.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The key that it accepts.
    package static let key = "stand-in-key"
    private let folder: URL
    private let child: ChildProcess
    package let port: Int
    package var url: String { "http://127.0.0.1:\(port)" }

    private init(folder: URL, child: ChildProcess, port: Int) { (self.folder, self.child, self.port) = (folder, child, port) }

    deinit {
        child.signal(SIGKILL)
        Task { [child, folder] in
            _ = await child.waitForExit()
            try? FileManager.default.removeItem(at: folder)
        }
    }

    /// Starts one that knows no customer, and waits until it answers.
    package static func start() async throws -> RevenueCatServer {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("revenuecat-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let child = try await ChildProcess.spawn(
            Command(
                executable: "/usr/bin/python3",
                arguments: [PythonPackages.file("RevenueCat/serve.py"), folder.path],
                environment: Command.inherited(),
                output: folder.appendingPathComponent("output").path
            )
        )
        let end = ContinuousClock.now.advanced(by: .seconds(60))
        while ContinuousClock.now < end, !child.hasExited {
            let ready = try? String(contentsOf: folder.appendingPathComponent("ready"), encoding: .utf8)
            if let port = ready.flatMap({ Int($0) }) { return RevenueCatServer(folder: folder, child: child, port: port) }
            try await Task.sleep(for: .milliseconds(20))
        }
        let output = (try? String(contentsOf: folder.appendingPathComponent("output"), encoding: .utf8)) ?? ""
        throw Failure(description: "the stand-in of RevenueCat did not start: \(output)")
    }

    /// What it says of a customer: the `subscriber` of the reply, in JSON; `request_date_ms` in it is the time of the reply.
    package func set(_ id: String, _ subscriber: String) throws {
        let file = folder.appendingPathComponent("subscribers/\(id).json")
        try subscriber.write(to: file, atomically: true, encoding: .utf8)
    }

    package func set(_ mode: Mode) throws {
        try mode.rawValue.write(to: folder.appendingPathComponent("mode"), atomically: true, encoding: .utf8)
    }

    /// The customers that it has.
    package var customers: Set<String> {
        let names =
            (try? FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent("subscribers").path)) ?? []
        return Set(names.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) })
    }

    /// Every request, `GET /v1/subscribers/…`.
    package var requests: [String] {
        let text = (try? String(contentsOf: folder.appendingPathComponent("log"), encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init)
    }
}
