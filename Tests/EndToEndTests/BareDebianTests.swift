import Foundation
import Processes
import TestSupport
import Testing

/// The Debian packages of what was built, on a Debian 12 that has nothing else: debootstrap makes it in a folder.
struct BareDebianTests {
    private static let repository = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL

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
        let install = "apt-get -q update && apt-get -q -y install " + names.map { "/root/\($0)" }.joined(separator: " ")
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

    /// The command that runs a program with a folder as its root, where /proc, /dev and the folder of temporary files are those of this machine.
    private static func enter(_ root: String, _ program: String...) -> [String] {
        let shared = FileManager.default.temporaryDirectory.path
        let script = """
            set -e
            mount -t proc proc "$1/proc"
            mount --rbind /dev "$1/dev"
            mkdir -p "$1$2"
            case "$2" in /dev/*) ;; *) mount --bind "$2" "$1$2" ;; esac
            cp /etc/resolv.conf "$1/etc/resolv.conf"
            root=$1
            shift 2
            exec env -u STREAKSNAP_BIN DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 \\
                PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" "$@"
            """
        return ["unshare", "--mount", "sh", "-c", script, "sh", root, shared] + program
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
