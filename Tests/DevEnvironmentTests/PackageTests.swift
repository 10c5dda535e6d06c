import Foundation
import Processes
import Testing

/// `deploy/package`, with a small program in the place of each executable: what is in the packages, and that they are the same each time.
struct PackageTests {
    private static let names = ["streaksnap", "auth", "social", "streaks", "media", "notifications", "billing", "gateway"]
    private static let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../deploy/package")
        .standardizedFileURL.path

    private func text(_ program: String, _ arguments: String...) async throws -> String {
        let result = try await run(program, arguments)
        #expect(result.status == 0, "\(program) \(arguments): \(result.transcript)")
        return result.text
    }

    /// A folder with executables that say a version, as protoc does, and what Swift packages they are of.
    private func prepare(_ folder: URL) throws {
        let protoc = try #require(Command.find("protoc"))
        let binaries = folder.appending(path: "binaries")
        try FileManager.default.createDirectory(at: binaries, withIntermediateDirectories: true)
        for name in Self.names {
            try FileManager.default.copyItem(atPath: protoc, toPath: binaries.appending(path: name).path)
        }
        let pins = """
            {"pins": [{"identity": "swift-nio", "location": "https://github.com/apple/swift-nio.git",
                       "state": {"revision": "abc", "version": "2.81.0"}}]}
            """
        try pins.write(to: folder.appending(path: "Package.resolved"), atomically: true, encoding: .utf8)
    }

    private func package(_ folder: URL, to output: String, only: [String] = []) async throws -> FinishedCommand {
        let arguments = [
            "--binaries", folder.appending(path: "binaries").path, "--resolved", folder.appending(path: "Package.resolved").path,
            "--output", folder.appending(path: output).path,
        ]
        return try await run(Self.program, arguments + only.flatMap { ["--only", $0] }, within: .seconds(900))
    }

    @Test func `there is a package for an executable, with its dependencies, checksums and what is in it, the same each time`()
        async throws
    {
        let folder = FileManager.default.temporaryDirectory.appending(path: "package-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try prepare(folder)
        // Two of them; the others are made in the same way, and take longer than a test should.
        let some = ["streaksnap", "auth"]
        let first = try await package(folder, to: "one", only: some)
        let second = try await package(folder, to: "two", only: some)
        try #require(first.status == 0, "\(first.transcript)")
        // The sums of all files.
        #expect(first.text == second.text)
        let output = folder.appending(path: "one")
        let files = try FileManager.default.contentsOfDirectory(atPath: output.path)
        #expect(files.filter { $0.hasSuffix(".deb") }.count == some.count + 2)
        #expect(files.contains { $0.hasSuffix(".tar.xz") } && files.contains("SHA256SUMS"))

        let auth = output.appending(path: try #require(files.first { $0.hasPrefix("streaksnap-auth_") })).path
        let control = try await text("dpkg-deb", "--field", auth)
        #expect(control.contains("Package: streaksnap-auth\n"))
        #expect(control.contains(/\nDepends: .*libc6 \(>= .*libproto.*streaksnap-common \(= [0-9.~a-z]+\)/))
        let contents = try await text("dpkg-deb", "--contents", auth)
        #expect(contents.contains("-rwxr-xr-x root/root") && contents.contains(" ./usr/lib/streaksnap/auth\n"))
        let symbols = output.appending(path: try #require(files.first { $0.hasPrefix("streaksnap-dbgsym_") })).path
        let debug = try await text("dpkg-deb", "--contents", symbols)
        #expect(debug.contains(#/ \./usr/lib/debug/\.build-id/[0-9a-f]{2}/[0-9a-f]{38}\.debug/#))
        let common = output.appending(path: try #require(files.first { $0.hasPrefix("streaksnap-common_") })).path
        let units = try await text("dpkg-deb", "--contents", common)
        #expect(units.contains("./usr/lib/systemd/system/streaksnap@.service"))
        for file in [
            "nats/nats.conf", "postgres/roles.sql", "grafana/overview.json", "prometheus/alerts.yaml", "cluster/haproxy.cfg",
            "cluster/database", "make-secrets", "install-settings",
        ] { #expect(units.contains(" ./usr/share/streaksnap/\(file)\n"), "\(file)") }
        #expect(!units.contains("seed.sql"), "users for load tests are not for an installation")
        let unit = try await text(
            "sh",
            "-c",
            "dpkg-deb --fsys-tarfile '\(common)' | tar -xO ./usr/lib/systemd/system/streaksnap@.service"
        )
        #expect(unit.contains("ExecStart=/usr/lib/streaksnap/%i"))

        try await checkSmallInstall(output.appending(path: try #require(files.first { $0.hasPrefix("streaksnap_") })).path)

        // Those of two kinds of processors are published side by side.
        let kind = try await text("dpkg", "--print-architecture").trimmingCharacters(in: .whitespacesAndNewlines)
        let bill = try #require(files.first { $0.hasSuffix("-\(kind).spdx.json") })
        let content = try JSONDecoder().decode(Bill.self, from: Data(contentsOf: output.appending(path: bill)))
        #expect(content.spdxVersion == "SPDX-2.3")
        #expect(Set(content.packages.map(\.name)).isSuperset(of: ["streaksnap", "swift-nio", "libc6"]))
        #expect(content.packages.first { $0.name == "swift-nio" }?.versionInfo == "2.81.0")
    }

    /// That the package of the one executable has what the small install needs.
    private func checkSmallInstall(_ package: String) async throws {
        let contents = try await text("dpkg-deb", "--contents", package)
        #expect(contents.contains(#/-rw------- root/root .* \./etc/streaksnap/up\.env\n/#), "secrets may be in it")
        for file in ["lib/systemd/system/streaksnap-up.service", "share/streaksnap/nginx.conf", "share/streaksnap/Caddyfile"] {
            #expect(contents.contains(" ./usr/\(file)\n"), "\(contents)")
        }
        // What an administrator has changed is kept.
        #expect(try await text("dpkg-deb", "--info", package, "conffiles") == "/etc/streaksnap/up.env\n")
        let settings = try await text("sh", "-c", "dpkg-deb --fsys-tarfile '\(package)' | tar -xO ./etc/streaksnap/up.env")
        #expect(settings.contains("\nSTREAKSNAP_HTTP_TRUSTED_PROXIES=127.0.0.1\n") && !settings.contains("DEV_CLOCK"))
        for script in ["postinst", "prerm", "postrm"] {
            let read = try await text("sh", "-c", "dpkg-deb --info '\(package)' \(script) | sh -n && echo right")
            #expect(read == "right\n")
        }
    }

    @Test func `units that decode videos are locked in alike, and may lock the decoders in`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardizedFileURL
        let text = { (path: String) in try String(contentsOf: root.appending(path: path), encoding: .utf8) }
        let hardening = try ["deploy/systemd/streaksnap@.service", "deploy/small/streaksnap-up.service"].map { unit in
            try #require(try text(unit).split(separator: "\n\n").first { $0.hasPrefix("NoNewPrivileges=yes\n") }, "\(unit)")
        }
        #expect(hardening[0] == hardening[1])
        let calls = Set(try text("Shared/CBoundedProcess/bounded_process.c").matches(of: /SYS_(landlock_\w+)/).map(\.1))
        #expect(calls.count == 3)
        let filter = try #require(hardening[0].firstMatch(of: /\nSystemCallFilter=(.+)/))
        // The group of Debian 12's systemd (252) has none of them, and what a filter lacks ends the process.
        #expect(calls.isSubset(of: Set(filter.1.split(separator: " "))), "\(filter.1)")
    }

    private struct Bill: Decodable {
        struct Package: Decodable {
            let name: String
            let versionInfo: String
        }
        let spdxVersion: String
        let packages: [Package]
    }

    @Test func `what cannot be packaged is named, and nothing is written`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "package-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try prepare(folder)
        try FileManager.default.removeItem(at: folder.appending(path: "binaries/media"))
        let missing = try await package(folder, to: "one")
        #expect(missing.status == 1)
        #expect(missing.errors.contains("has no media: build first"))
        #expect(!FileManager.default.fileExists(atPath: folder.appending(path: "one").path))
    }
}
