private import Foundation
private import Glibc

/// Data folders that were made for one run and whose process was killed before it could remove them.
public enum AbandonedFolders {
    /// How old a folder without a lock must be: its process may be about to lock it.
    private static let least = 60

    /// Removes the folders of `parent` whose names begin with `prefix` and that are not in use, by a `DevEnvironment` or one of its
    /// servers. What cannot be removed stays for the next time.
    ///
    /// - Parameter limit: how many are removed at most.
    public static func remove(in parent: String, prefix: String, limit: Int = 32) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
        for name in names.filter({ $0.hasPrefix(prefix) }).prefix(limit) {
            let folder = "\(parent)/\(name)"
            guard isOld(folder), !isServerRunning(folder), let lock = try? FolderLock(folder: folder) else { continue }
            withExtendedLifetime(lock) { try? FileManager.default.removeItem(atPath: folder) }
        }
    }

    private static func isOld(_ folder: String) -> Bool {
        if Files.exists("\(folder)/.lock") { return true }
        var status = stat()
        return stat(folder, &status) == 0 && time(nil) - status.st_mtim.tv_sec > least
    }

    /// A server that is still ending would write into what is being removed.
    private static func isServerRunning(_ folder: String) -> Bool {
        ["nats/nats-server.pid", "postgres/cluster/postmaster.pid"].contains { file in
            guard Files.exists("\(folder)/\(file)"), let line = try? Files.read("\(folder)/\(file)").split(separator: "\n").first,
                let pid = Int32(line), let command = try? Files.read("/proc/\(pid)/cmdline")
            else { return false }
            return command.contains(folder)
        }
    }
}
