import Foundation
import Processes
import Testing

/// What an installation on three hosts copies, and the units: each program takes its file (deploy/cluster, deploy/systemd). The chaos
/// cluster runs from the same files.
struct ClusterFilesTests {
    private static let deploy = URL(filePath: #filePath).appending(path: "../../../deploy").standardizedFileURL
    private static let hosts = ["host1", "host2", "host3"]
    private static let services = ["auth", "social", "streaks", "media", "notifications", "billing", "gateway"]

    /// A folder of a test: with certificates in `tls` and all secrets in `secrets`.
    private func withInstallation(_ body: (String) async throws -> Void) async throws {
        try await withDataFolder { folder in
            try await deploy("cluster/certificates", ["\(folder)/tls"] + Self.hosts.map { "\($0)=127.0.0.1" })
            try await deploy("make-secrets", ["\(folder)/secrets", "host=host1,host2 sslmode=verify-full"])
            try await body(folder)
        }
    }

    @discardableResult
    private func deploy(_ script: String, _ arguments: [String], _ environment: [String: String] = [:]) async throws -> String {
        let result = try await run(Self.deploy.appending(path: script).path, arguments, environment: environment)
        try #require(result.status == 0, "\(script): \(result.transcript)")
        return result.text
    }

    private func read(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private func names(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }

    /// The lines `NAME=value` of a file.
    private func variables(_ path: String) throws -> [String: String] {
        let pairs = try read(path).split(separator: "\n").map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
        return Dictionary(uniqueKeysWithValues: pairs.map { ($0[0], $0.count > 1 ? $0[1] : "") })
    }

    /// A file of deploy in a folder, with its paths below /etc there.
    private func place(_ file: String, in folder: String, _ change: (String) -> String = { $0 }) throws -> String {
        let text = try read(Self.deploy.appending(path: file).path)
        let target = "\(folder)/\(file.split(separator: "/").last ?? "")"
        try change(text).write(toFile: target, atomically: true, encoding: .utf8)
        return target
    }

    @Test func `the authority signs a certificate for each host, by name and address, and keeps what is there`() async throws {
        try await withInstallation { folder in
            let files = Self.hosts.map { "\(folder)/tls/\($0).pem" }
            let verified = try await run("openssl", ["verify", "-CAfile", "\(folder)/tls/ca.pem"] + files)
            #expect(verified.status == 0, "\(verified.transcript)")
            let shown = try await run("openssl", ["x509", "-noout", "-ext", "subjectAltName,extendedKeyUsage", "-in", files[0]])
            for words in ["DNS:host1", "IP Address:127.0.0.1", "Server Authentication", "Client Authentication"] {
                #expect(shown.text.contains(words), "\(shown.transcript)")
            }
            #expect(try mode("\(folder)/tls/ca.key") == 0o600 && mode("\(folder)/tls/host1.key") == 0o600)
            let before = try files.map(read)
            try await deploy("cluster/certificates", ["\(folder)/tls"] + Self.hosts.map { "\($0)=127.0.0.1" })
            #expect(try files.map(read) == before)
        }
    }

    @Test func `secrets that are there stay, and databases are found elsewhere only when that is asked for`() async throws {
        try await withInstallation { folder in
            let path = "\(folder)/secrets"
            let before = try names(path).map { try read("\(path)/\($0)") }
            try await deploy("make-secrets", [path])
            #expect(try names(path).map { try read("\(path)/\($0)") } == before)
            let url = try read("\(path)/database-url-auth")
            #expect(url.hasPrefix("host=host1,host2 sslmode=verify-full dbname=streaksnap user=auth password=c"))
            try await deploy("make-secrets", [path, "host=elsewhere"])
            #expect(try read("\(path)/database-url-auth").hasPrefix("host=elsewhere dbname=streaksnap user=auth password=c"))
            #expect(try mode(path) == 0o700)
        }
    }

    @Test func `a host gets the settings and secrets of its services and of no other, beside what an operator wrote`()
        async throws
    {
        try await withInstallation { folder in
            let target = ["STREAKSNAP_ETC": "\(folder)/etc"]
            try await deploy("install-settings", ["\(folder)/secrets", "auth", "gateway", "streams"], target)
            #expect(try names("\(folder)/etc/secrets") == ["auth", "gateway", "streams"])
            let auth = ["database-url", "media-signing-key", "nats-password", "refresh-secret", "seal-key", "service-key"]
            #expect(try names("\(folder)/etc/secrets/auth") == auth)
            #expect(try mode("\(folder)/etc/secrets/auth/nats-password") == 0o400 && mode("\(folder)/etc/secrets") == 0o700)
            #expect(
                try read("\(folder)/etc/secrets/streams/nats-password") == read("\(folder)/secrets/nats-operator"),
                "streams are made by the operator"
            )
            let own = try variables("\(folder)/etc/auth.env")
            #expect(own["STREAKSNAP_SEAL_KEY_FILE"] == "/run/credentials/streaksnap@auth.service/secrets_seal-key")

            let written = "#STREAKSNAP_SEAL_KEY_FILE=x\nSTREAKSNAP_ADMIN_PORT=1\n"
            try written.write(toFile: "\(folder)/etc/auth.env", atomically: true, encoding: .utf8)
            try await deploy("install-settings", ["\(folder)/secrets", "auth"], target)
            let added = try read("\(folder)/etc/auth.env")
            #expect(
                added.hasPrefix(written) && added.contains("STREAKSNAP_SERVICE_KEY_FILE=") && !added.contains("\nSTREAKSNAP_SEAL")
            )
            let unknown = try await run(
                Self.deploy.appending(path: "install-settings").path,
                ["\(folder)/secrets", "meals"],
                environment: target
            )
            #expect(unknown.status == 2 && unknown.errors.contains("there is no service meals"))
        }
    }

    @Test func `brokers take the file of a cluster`() async throws {
        try await withInstallation { folder in
            for (source, target) in [("host1.pem", "host.pem"), ("host1.key", "host.key")] {
                try FileManager.default.copyItem(atPath: "\(folder)/tls/\(source)", toPath: "\(folder)/tls/\(target)")
            }
            // Debian's 2.9 does not know it.
            _ = try place("nats/nats.conf", in: folder) { $0.replacing("    sync_interval: always\n", with: "") }
            let file = try place("cluster/nats-cluster.conf", in: folder) { $0.replacing("/etc/nats/", with: "\(folder)/") }
            let server = ProcessInfo.processInfo.environment["NATS_SERVER"] ?? "/usr/sbin/nats-server"
            let passwords = try variables("\(folder)/secrets/nats-passwords.env")
            let checked = try await run(server, ["-t", "-c", file], environment: passwords)
            #expect(checked.status == 0, "\(checked.transcript)")
        }
    }

    /// `deploy/dev chaos --cluster` installs it.
    @Test(.enabled(if: Command.find("haproxy") != nil)) func `HAProxy takes its file`() async throws {
        try await withInstallation { folder in
            let key = try read("\(folder)/tls/host1.pem") + read("\(folder)/tls/host1.key")
            try key.write(toFile: "\(folder)/streaksnap.pem", atomically: true, encoding: .utf8)
            let file = try place("cluster/haproxy.cfg", in: folder) { text in
                text.replacing("/etc/haproxy/", with: "\(folder)/").replacing("/run/haproxy/", with: "\(folder)/")
                    .replacing(/host[23]:8080/, with: "127.0.0.1:8080")
            }
            let checked = try await run("haproxy", ["-c", "-f", file])
            #expect(checked.status == 0, "\(checked.transcript)")
        }
    }

    @Test(.enabled(if: Command.find("systemd-analyze") != nil)) func `systemd understands every word of the units`() async throws
    {
        try await withDataFolder { folder in
            for name in Self.services + ["streaksnap", "nats-server"] {
                try "#!/bin/sh\n".write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
                chmod("\(folder)/\(name)", 0o755)
            }
            var units: [String] = []
            for source in ["systemd", "cluster"] {
                for name in try names(Self.deploy.appending(path: source).path)
                where [".service", ".target", ".socket"].contains(where: name.hasSuffix) {
                    let unit = try place("\(source)/\(name)", in: folder) { text in
                        text.replacing("/usr/local/lib/streaksnap/", with: "\(folder)/").replacing(
                            "/usr/local/bin/",
                            with: "\(folder)/"
                        )
                    }
                    units.append(unit.replacing("@.service", with: name.contains("gateway") ? "@1.service" : "@auth.service"))
                }
            }
            #expect(units.count >= 6, "\(units)")
            let checked = try await run("systemd-analyze", ["verify"] + units)
            // What it does not know it names, and ends with 0.
            #expect(checked.status == 0 && checked.transcript.isEmpty, "\(checked.transcript)")
        }
    }

    @Test func `a unit is started by the target of its host, and not without executable and settings`() throws {
        for name in ["streaksnap@.service", "streaksnap-gateway@.service", "streaksnap-streams.service"] {
            let unit = try read(Self.deploy.appending(path: "systemd/\(name)").path)
            for line in ["PartOf=streaksnap.target", "WantedBy=streaksnap.target", "StartLimitIntervalSec=0"] {
                #expect(unit.contains("\n\(line)\n"), "\(name) has no \(line)")
            }
            #expect(
                unit.contains("\nAssertFileIsExecutable=/usr/local/lib/streaksnap/")
                    && unit.contains("\nAssertPathExists=/etc/streaksnap/")
            )
        }
        // It names none itself: what a host has enabled runs there, `streams` at one.
        #expect(!(try read(Self.deploy.appending(path: "systemd/streaksnap.target").path)).contains("\nWants="))
    }
}
