import Foundation
import Processes
import TestSupport
import Testing

/// The manifests of deploy/kubernetes, read by a YAML parser.
struct ManifestTests {
    @Test func `replicas are spread, disturbed one by one, scraped, know proxy and blobs, and fit PostgreSQL`() async throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../deploy/kubernetes").standardized
        let result = try await run(try await PythonPackages.yaml.value, [PythonPackages.file("manifests.py"), folder.path])
        #expect(result.status == 0 && result.transcript == "ok\n", "\(result.transcript)")
    }
}
