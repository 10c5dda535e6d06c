import Foundation
import Processes
import Synchronization

/// moto's S3 server in a process of its own; it ends with this process or when it is released.
package final class S3Server: Sendable {
    private struct Report: Decodable {
        let port: Int
        let key: String
        let secret: String
    }

    private let process: StandIn
    private let buckets: [String]
    private let checksLinks: Bool
    private let report = Mutex(Report(port: 0, key: "", secret: ""))

    private init(process: StandIn, buckets: [String], checksLinks: Bool) {
        (self.process, self.buckets, self.checksLinks) = (process, buckets, checksLinks)
    }

    /// Starts a server with empty buckets and waits until it answers.
    ///
    /// - Parameter checksLinks: checks the signatures of links instead of those in headers, which it can only do for one of the two.
    package static func start(buckets: [String], checksLinks: Bool = false) async throws -> S3Server {
        let server = S3Server(process: try await StandIn("s3"), buckets: buckets, checksLinks: checksLinks)
        try await server.start()
        return server
    }

    /// Starts it again after it was killed, on the same port and for the same credentials, with empty buckets.
    package func start() async throws {
        let data = try await process.start(
            "S3/serve.py",
            [process.file("ready").path, "\(port)", checksLinks ? "links" : "headers"] + buckets,
            by: try await PythonPackages.s3.value,
            ready: "ready"
        )
        let new = try JSONDecoder().decode(Report.self, from: data)
        report.withLock { $0 = new }
    }

    /// Kills it, and waits until it is gone.
    package func kill() async { await process.kill() }

    /// Every key of a bucket, as boto3 sees them.
    package func keys(in bucket: String) async throws -> [String] {
        let result = try await run(
            try await PythonPackages.s3.value,
            [PythonPackages.script("keys.py"), endpoint, key, secret, bucket]
        )
        guard result.status == 0 else { throw PythonPackages.Failure(description: result.transcript) }
        return result.text.split(separator: "\n").map(String.init)
    }

    package var port: Int { report.withLock { $0.port } }
    package var endpoint: String { "http://127.0.0.1:\(port)" }
    package var key: String { report.withLock { $0.key } }
    package var secret: String { report.withLock { $0.secret } }
}
