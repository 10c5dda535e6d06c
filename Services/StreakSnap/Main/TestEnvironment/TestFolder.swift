import DevEnvironment
import FoundationEssentials
import Glibc
import Processes

/// Where a test environment keeps everything.
struct TestFolder: Sendable {
    let path: String
    /// Whether it was made for this run, and is removed at its end.
    private let isTemporary: Bool
    private static let prefix = "streaksnap-test-"

    /// What is in memory, where the thousand files of a world cost little.
    private static let memory = "/dev/shm"
    /// So much must be free there, in bytes.
    private static let leastMemory: UInt64 = 2 << 30

    /// The folder that was named, or a new one in `$TMPDIR`, /dev/shm or /tmp; then those that killed processes left there are removed.
    ///
    /// - Throws: `DevEnvironmentError` when there is none.
    init(named name: String?) throws {
        if let name {
            (path, isTemporary) = (DevEnvironmentConfiguration(dataFolder: name).dataFolder, false)
            return
        }
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? (Self.isInMemory(Self.memory) ? Self.memory : "/tmp")
        AbandonedFolders.remove(in: parent, prefix: Self.prefix)
        // Root starts PostgreSQL as another user, who must get there; what is secret has folders of its own.
        guard let path = try? makeTemporaryFolder(Self.prefix, in: parent, mode: 0o755) else {
            throw DevEnvironmentError("No folder can be made in \(parent).", wayOut: "Set TMPDIR, or name a folder with --data.")
        }
        (self.path, isTemporary) = (path, true)
    }

    private static func isInMemory(_ folder: String) -> Bool {
        var system = statvfs()
        guard isMounted(folder, as: "tmpfs"), access(folder, W_OK) == 0, statvfs(folder, &system) == 0 else { return false }
        return UInt64(system.f_bavail) * UInt64(system.f_frsize) >= leastMemory
    }

    private static func isMounted(_ folder: String, as type: String) -> Bool {
        guard let mounts = fopen("/proc/self/mounts", "re") else { return false }
        defer { fclose(mounts) }
        var line = [CChar](repeating: 0, count: 1 << 14)
        while fgets(&line, Int32(line.count), mounts) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            if text.contains(" \(folder) \(type) ") { return true }
        }
        return false
    }

    /// Removes it, if it was made for this run.
    func remove() {
        if isTemporary { try? FileManager.default.removeItem(atPath: path) }
    }

    /// A file of PostgreSQL's that asks for passwords by MD5: the server and its clients are this process's own, each world has
    /// several connections, and SCRAM takes some milliseconds for each.
    ///
    /// - Throws: an error of the operating system.
    func writeHostRules() throws -> String {
        let file = path + "/pg_hba.conf"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try Data("local all all md5\nhost all all 127.0.0.1/32 md5\n".utf8).write(to: URL(filePath: file))
        chmod(file, 0o644)
        return file
    }
}
