import Foundation

/// A stand-in for RevenueCat's REST API, in a process of its own; it ends with this process or when it is released.
package final class RevenueCatServer: Sendable {
    /// How it behaves.
    package enum Mode: String, CaseIterable, Sendable {
        case ok, fail, garbage, cut, hang
    }

    /// The key that it accepts.
    package static let key = "stand-in-key"
    private let process: StandIn
    package let port: Int
    package var url: String { "http://127.0.0.1:\(port)" }

    private init(process: StandIn, port: Int) { (self.process, self.port) = (process, port) }

    /// Starts one that knows no customer, and waits until it answers.
    package static func start() async throws -> RevenueCatServer {
        let process = try await StandIn("revenuecat")
        let report = try await process.start("RevenueCat/serve.py", [process.folder.path], ready: "ready")
        return RevenueCatServer(process: process, port: Int(String(decoding: report, as: UTF8.self)) ?? 0)
    }

    /// What it says of a customer: the `subscriber` of the reply, in JSON; `request_date_ms` in it is the time of the reply.
    package func set(_ id: String, _ subscriber: String) throws {
        let file = process.file("subscribers/\(id).json")
        try subscriber.write(to: file, atomically: true, encoding: .utf8)
    }

    package func set(_ mode: Mode) throws {
        try mode.rawValue.write(to: process.file("mode"), atomically: true, encoding: .utf8)
    }

    /// The customers that it has.
    package var customers: Set<String> {
        let names =
            (try? FileManager.default.contentsOfDirectory(atPath: process.file("subscribers").path)) ?? []
        return Set(names.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) })
    }

    /// Every request, `GET /v1/subscribers/…`.
    package var requests: [String] {
        let text = (try? String(contentsOf: process.file("requests"), encoding: .utf8)) ?? ""
        // The last line may be half written.
        let whole = text.lastIndex(of: "\n").map { text[..<$0] } ?? ""
        return whole.split(separator: "\n").map(String.init)
    }
}
