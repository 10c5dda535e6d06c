import Foundation
import Processes
import TestSupport
import Testing

/// What runs elsewhere: the manifests of deploy/kubernetes, container files, and the workflows that publish.
struct ManifestTests {
    private static let repository = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

    @Test func `replicas are spread, disturbed one by one, scraped, know proxy and blobs, and fit PostgreSQL`() async throws {
        let folder = Self.repository.appending(path: "deploy/kubernetes")
        let arguments = [PythonPackages.file("Manifests/manifests.py"), folder.path]
        let result = try await run(try await PythonPackages.yaml.value, arguments)
        #expect(result.status == 0 && result.transcript == "ok\n", "\(result.transcript)")
    }

    @Test func `linters accept workflows, Dockerfiles and Compose files, and these agree with each other`() async throws {
        let arguments = [PythonPackages.file("Manifests/containers.py"), Self.repository.path]
        let result = try await run(try await PythonPackages.linters.value, arguments, within: .seconds(300))
        #expect(result.status == 0 && result.transcript == "ok\n", "\(result.transcript)")
    }
}
