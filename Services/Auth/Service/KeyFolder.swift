internal import FoundationEssentials
internal import Runtime
internal import Tokens

/// The folder of signing keys. Adding a file rotates: the last by name signs, all are published (AU-3).
struct KeyFolder {
    let path: String

    /// The keys in PEM, oldest first; makes the first one when there is none.
    ///
    /// - Throws: `Settings.Invalid` when the folder cannot be read or written.
    func load() throws -> [String] {
        let files = FileManager.default
        do {
            try files.createDirectory(atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            if try names().isEmpty {
                let file = path + "/0001.pem"
                // Two replicas may start at once: whoever comes second takes the first one's key.
                _ = files.createFile(
                    atPath: file + ".new",
                    contents: Data(TokenSigner.makeKey().utf8),
                    attributes: [.posixPermissions: 0o600]
                )
                if !files.fileExists(atPath: file) { try files.moveItem(atPath: file + ".new", toPath: file) }
            }
            return try names().map { try String(contentsOfFile: path + "/" + $0, encoding: .utf8) }
        } catch {
            throw Settings.Invalid("The signing keys in \(path) (--auth-key-folder) cannot be read: \(error)")
        }
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".pem") }.sorted()
    }
}
