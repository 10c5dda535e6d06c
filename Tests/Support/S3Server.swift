import Foundation
import Processes
import Synchronization

/// moto's S3 server in a process of its own; it ends with this process or when it is released.
package final class S3Server: Sendable {
    private struct State {
        var child: ChildProcess?
        var port = 0
        var key = ""
        var secret = ""
    }

    private struct Report: Decodable {
        let port: Int
        let key: String
        let secret: String
    }

    private let folder: URL
    private let buckets: [String]
    private let isChecked: Bool
    private let state = Mutex(State())

    private init(folder: URL, buckets: [String], isChecked: Bool) {
        (self.folder, self.buckets, self.isChecked) = (folder, buckets, isChecked)
    }

    deinit {
        let child = state.withLock { $0.child }
        child?.signal(SIGKILL)
        Task { [folder] in
            _ = await child?.waitForExit()
            try? FileManager.default.removeItem(at: folder)
        }
    }

    /// Starts a server with empty buckets and waits until it answers.
    ///
    /// - Parameter isChecked: Whether it checks signatures in headers; those of links it cannot, and then refuses all links.
    package static func start(buckets: [String], isChecked: Bool = true) async throws -> S3Server {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("s3-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let server = S3Server(folder: folder, buckets: buckets, isChecked: isChecked)
        try await server.start()
        return server
    }

    /// Starts it again after it was killed, on the same port and for the same credentials, with empty buckets.
    package func start() async throws {
        let file = folder.appendingPathComponent("ready")
        try? FileManager.default.removeItem(at: file)
        let child = try await ChildProcess.spawn(
            Command(
                executable: try await PythonPackages.s3.value,
                arguments: [PythonPackages.script("serve.py"), file.path, "\(port)", isChecked ? "checked" : "unchecked"]
                    + buckets,
                environment: Command.inherited(),
                output: folder.appendingPathComponent("log").path
            )
        )
        state.withLock { $0.child = child }
        let end = ContinuousClock.now.advanced(by: .seconds(120))
        while ContinuousClock.now < end, !child.hasExited {
            if let data = try? Data(contentsOf: file) {
                let report = try JSONDecoder().decode(Report.self, from: data)
                return state.withLock { ($0.port, $0.key, $0.secret) = (report.port, report.key, report.secret) }
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        let log = (try? String(contentsOf: folder.appendingPathComponent("log"), encoding: .utf8)) ?? ""
        throw PythonPackages.Failure(description: "the S3 server did not start: \(log)")
    }

    /// Kills it, and waits until it is gone.
    package func kill() async {
        let child = state.withLock { $0.child }
        child?.signal(SIGKILL)
        _ = await child?.waitForExit()
    }

    /// Every key of a bucket, as boto3 sees them.
    package func keys(in bucket: String) async throws -> [String] {
        let result = try await run(
            try await PythonPackages.s3.value,
            [PythonPackages.script("keys.py"), endpoint, key, secret, bucket]
        )
        guard result.status == 0 else { throw PythonPackages.Failure(description: result.transcript) }
        return result.text.split(separator: "\n").map(String.init)
    }

    package var port: Int { state.withLock { $0.port } }
    package var endpoint: String { "http://127.0.0.1:\(port)" }
    package var key: String { state.withLock { $0.key } }
    package var secret: String { state.withLock { $0.secret } }
}
