internal import AuthDomain
internal import FoundationEssentials
package import Kernel
internal import Runtime
internal import Tokens

/// The folder of signing keys (AU-3): P-256 in PEM, one file each.
package struct KeyFolder: Sendable {
    let path: String

    package init(path: String) { self.path = path }

    /// The schedule of the keys that are there; makes the first one when there is none.
    ///
    /// - Throws: `Settings.Invalid` when the folder cannot be read or written.
    func schedule(now: Instant) throws -> KeySchedule {
        do {
            try makeFolder()
            if try names().isEmpty { try write("0001.pem") }
            return KeySchedule(names: try names(), now: now)
        } catch { throw unusable(error) }
    }

    /// The keys of a schedule in PEM, in its order.
    func load(_ schedule: KeySchedule) throws -> [String] {
        do { return try schedule.published.map { try String(contentsOfFile: path + "/" + $0, encoding: .utf8) } } catch {
            throw unusable(error)
        }
    }

    /// Adds a key, which signs a minute later. - Returns: its file.
    package func rotate(now: Instant) throws -> String {
        do {
            try makeFolder()
            // A folder without a key gets one that signs at once.
            let name = try names().isEmpty ? "0001.pem" : KeySchedule.name(now: now)
            try write(name)
            return path + "/" + name
        } catch { throw unusable(error) }
    }

    private func makeFolder() throws {
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
    }

    /// Two replicas may start at once: the second uses the first one's key.
    private func write(_ name: String) throws {
        let files = FileManager.default
        let id: OperationID = UUIDv7Source(clock: SystemClock()).make()
        let (file, draft) = (path + "/" + name, path + "/.\(id)")
        defer { try? files.removeItem(atPath: draft) }
        guard
            files.createFile(
                atPath: draft,
                contents: Data(try TokenSigner.makeKey().utf8),
                attributes: [.posixPermissions: 0o600]
            )
        else { throw CocoaError(.fileWriteUnknown) }
        // The service that reads it may be another user than the operator who made it: the folder's owner.
        let owner = try files.attributesOfItem(atPath: path)
        for key in [FileAttributeKey.ownerAccountID, .groupOwnerAccountID] {
            if let id = owner[key] { try? files.setAttributes([key: id], ofItemAtPath: draft) }
        }
        // Moving it could replace the key of another replica; a link never does.
        do { try files.linkItem(atPath: draft, toPath: file) } catch _ where files.fileExists(atPath: file) {}
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".pem") && !$0.hasPrefix(".") }
    }

    func unusable(_ error: any Error) -> Settings.Invalid {
        Settings.Invalid("The signing keys in \(path) (--auth-key-folder) cannot be used: \(error)")
    }
}
