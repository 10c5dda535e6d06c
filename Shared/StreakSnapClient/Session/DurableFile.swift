import Foundation

/// Files that are whole or not there, also after a loss of power.
enum DurableFile {
    /// Writes beside the target, brings the bytes to the disk, and puts the file in the target's place. Only the owner may read it.
    static func write(_ data: Data, to target: URL) throws {
        let folder = target.deletingLastPathComponent()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let draft = folder.appendingPathComponent(".\(target.lastPathComponent).draft")
        guard FileManager.default.createFile(atPath: draft.path, contents: nil, attributes: [.posixPermissions: 0o600]) else {
            throw StreakSnapError(kind: .file, message: "No file can be made in \(folder.path).")
        }
        let handle = try FileHandle(forWritingTo: draft)
        do {
            try handle.write(contentsOf: data)
            try handle.synchronize()
            try handle.close()
        } catch {
            try? handle.close()
            try? FileManager.default.removeItem(at: draft)
            throw error
        }
        try replace(target, by: draft)
    }

    /// `rename(2)`: one step, whether or not there is a target.
    static func replace(_ target: URL, by draft: URL) throws {
        guard rename(draft.path, target.path) == 0 else {
            throw StreakSnapError(kind: .file, message: "\(target.lastPathComponent) cannot be written.")
        }
    }
}
