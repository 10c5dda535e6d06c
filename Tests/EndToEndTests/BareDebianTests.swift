import Foundation
import Processes
import TestSupport
import Testing

/// The Debian packages of what was built, on a Debian 12 that has nothing else: debootstrap makes it in a folder.
struct BareDebianTests {
    private static let repository = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL
    private static let fixtures = "Tests/EndToEndTests/Fixtures/small"

    @Test func `the packages install on a bare Debian 12, bring what they need, and the system runs there`() async throws {
        // A Debian is downloaded, which needs root, and takes minutes.
        guard TestDepth.current == .full else { return }
        let folder = try Installation.makeFolder()
        let (debian, packages) = (folder.appending(path: "debian").path, folder.appending(path: "packages").path)
        try await done(
            Self.repository.appending(path: "deploy/package").path,
            ["--binaries", Installation.binaries.path, "--output", packages]
        )
        try await done("debootstrap", ["--variant=minbase", "bookworm", debian, "http://deb.debian.org/debian"])
        // A package that is installed starts nothing there.
        let policy = "\(debian)/usr/sbin/policy-rc.d"
        try "#!/bin/sh\nexit 101\n".write(toFile: policy, atomically: true, encoding: .utf8)
        chmod(policy, 0o755)
        let names = try FileManager.default.contentsOfDirectory(atPath: packages).filter { $0.hasSuffix(".deb") }
        #expect(names.count == 9, "\(names)")
        for name in names { try FileManager.default.moveItem(atPath: "\(packages)/\(name)", toPath: "\(debian)/root/\(name)") }
        try await installSmall(debian)
        let install = "apt-get -q -y install " + names.map { "/root/\($0)" }.joined(separator: " ")
        try await done(Self.enter(debian, "/bin/sh", "-c", install))

        let version = try await done(Self.enter(debian, "/usr/bin/streaksnap", "--version"))
        for service in ["auth", "social", "streaks", "media", "notifications", "billing", "gateway"] {
            // Each finds its libraries.
            let said = try await done(Self.enter(debian, "/usr/lib/streaksnap/\(service)", "--version"))
            #expect(said.hasSuffix(version), "\(service): \(said)")
        }
        let units = try await done(Self.enter(debian, "/bin/sh", "-c", "ls /usr/lib/systemd/system/streaksnap*; id streaksnap"))
        #expect(units.contains("streaksnap@.service") && units.contains("streaksnap.target") && units.contains("(streaksnap)"))

        let home = try await Installation(startsEmpty: true, program: Self.enter(debian, "/usr/bin/streaksnap"))
        let (ann, ben) = (try await Person.register("ann", at: home), try await Person.register("ben", at: home))
        let streak = try await ann.befriend(ben)
        for (seed, person) in [(UInt64(5), ann), (6, ben)] {
            let posted = try await person.upload(try Photos.jpeg(seed), to: streak)
            #expect(posted.status == 201, "\(posted.text)")
        }
        let item = try await ann.get("/api/streaks/\(streak)")
        #expect(item.data["streak"]["current_count"].int == 1, "\(item.text)")
        await home.guardian.end()
        try FileManager.default.removeItem(at: folder)
    }

    /// Does all that the page of the small install says, with what it shows in between (`Fixtures/small/session.sh`), in a network of its
    /// own: there all ports are free, and what Debian has to bring is in apt's cache.
    private func installSmall(_ debian: String) async throws {
        let fetch = """
            cd /root && apt-get -q update && apt-get -q -y install jq
            apt-get -q -y --download-only install ./streaksnap-common_*.deb ./streaksnap_[0-9]*.deb curl openssl nginx caddy
            """
        try await done(Self.enter(debian, "/bin/sh", "-e", "-c", fetch))
        try FileManager.default.copyItem(
            atPath: Self.repository.appending(path: "\(Self.fixtures)/systemctl").path,
            toPath: "\(debian)/usr/local/sbin/systemctl"
        )
        try Self.session().write(toFile: "\(debian)/root/session.sh", atomically: true, encoding: .utf8)
        let said = try await done(Self.enter(debian, isAlone: true, "/bin/bash", "-x", "/root/session.sh"))
        #expect(said.hasSuffix("session: done\n"), "\(said.suffix(2_000))")
        try FileManager.default.removeItem(atPath: "\(debian)/usr/local/sbin/systemctl")
    }

    /// The session with the commands of the pages in their places.
    private static func session() throws -> String {
        let text = { (path: String) in try String(contentsOf: repository.appending(path: path), encoding: .utf8) }
        let commands = { (section: Substring) in
            section.split(separator: "```sh\n").dropFirst().map { $0.split(separator: "```").first ?? "" }.joined()
        }
        var session = try text("\(fixtures)/session.sh")
        for section in try text("deploy/docs/small-install.md").split(separator: "\n## ").dropFirst()
        where section.contains("```sh") {
            let line = "#page \(section.prefix { $0 != "\n" })\n"
            #expect(session.contains(line), "no command of the page is left out")
            session.replace(line, with: commands(section))
        }
        let readme = try #require(try text("README.md").split(separator: "\n## ").first { $0.hasPrefix("Using it with curl") })
        let calls = commands(readme).replacing("API=http://127.0.0.1:8080\n", with: "API=https://$SITE\n")
        session.replace("#readme\n", with: calls.replacing("deploy/dev photo", with: "streaksnap photo"))
        #expect(!session.contains("#page") && !session.contains("#readme"))
        return session
    }

    /// The command that runs a program with a folder as its root, where /proc, /dev and the folder of temporary files are those of this machine.
    ///
    /// - Parameter isAlone: no network but loopback, and no process is left behind.
    private static func enter(_ root: String, isAlone: Bool = false, _ program: String...) -> [String] {
        let shared = FileManager.default.temporaryDirectory.path
        let script = """
            set -e
            \(isAlone ? "ip link set lo up; mount -t tmpfs tmpfs \"$1/run\"" : "")
            mount -t proc proc "$1/proc"
            mount --rbind /dev "$1/dev"
            mkdir -p "$1$2"
            case "$2" in /dev/*) ;; *) mount --bind "$2" "$1$2" ;; esac
            cp /etc/resolv.conf "$1/etc/resolv.conf"
            root=$1
            shift 2
            exec env -u STREAKSNAP_BIN DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 HOME=/root \\
                PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" "$@"
            """
        let alone = isAlone ? ["--net", "--pid", "--fork", "--kill-child"] : []
        return ["unshare", "--mount"] + alone + ["sh", "-c", script, "sh", root, shared] + program
    }

    @discardableResult
    private func done(_ program: String, _ arguments: [String]) async throws -> String {
        let result = try await run(program, arguments, within: .seconds(900))
        try #require(result.status == 0, "\(program): \(result.transcript.suffix(5_000))")
        return result.text
    }

    @discardableResult
    private func done(_ command: [String]) async throws -> String { try await done(command[0], Array(command.dropFirst())) }
}
