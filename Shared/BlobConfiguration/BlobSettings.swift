public import BlobStore
internal import Kernel
public import Logging
public import Runtime

/// Settings of executables that reach the blob store: `auth`, `streaks`, `media` and `gateway` must agree on them (D4).
public enum BlobSettings {
    /// The kind of store.
    public static let kind = Setting(
        "blob.store",
        default: "local",
        help:
            "Where photos and uploads are stored: local (a folder) or s3 (a bucket of an S3-compatible store). The same for auth, streaks, media and gateway."
    )
    /// The local folder.
    public static let folder = Setting<String>(
        "blob.folder",
        default: nil,
        help: "With local: folder of photos and uploads; auth, streaks, media and gateway must see the same one."
    )
    /// The folder for uploads on their way to S3.
    public static let spoolFolder = Setting(
        "blob.spool-folder",
        default: "/tmp",
        help:
            "With s3: folder for files on their way to the bucket, uploads up to 100 MiB and exports up to 5 GiB; need not survive a restart."
    )
    /// The key that signs links.
    public static let signingKey = Setting<String>(
        "media.signing-key",
        default: nil,
        isSecret: true,
        help: "At least 32 characters; media and auth sign links to photos and exports with it, the gateway verifies them."
    )
    /// Settings of who stores and reads files.
    public static let storage: [any AnySetting] = [kind, folder, spoolFolder] + S3Settings.all
    /// Settings of who makes or verifies links to them too.
    public static let all: [any AnySetting] = storage + [signingKey]

    /// The configured store.
    ///
    /// - Throws: `Settings.Invalid`, or the store's error when its folder cannot be used.
    public static func store(_ settings: Settings, logger: Logger) async throws -> any BlobStore {
        switch try settings.get(kind) {
        case "local":
            let store = LocalBlobStore(folder: try settings.get(folder), logger: logger)
            do { try await store.prepare() } catch let error as ServiceError {
                // What the system says is in the log. A folder that is mounted later is there at the next start.
                throw ServiceError(error.code, error.reason, "The folder of \(folder.argument) cannot be used.")
            }
            return store
        case "s3":
            return try await S3Settings.store(settings, spoolFolder: try settings.get(spoolFolder), logger: logger)
        default: throw kind.invalid("must be local or s3.")
        }
    }
}

extension BlobSettings {
    /// The key that signs links, for who verifies them too.
    ///
    /// - Throws: `Settings.Invalid` when there is none, or it has less than 32 characters.
    public static func linkSecret(_ settings: Settings) throws -> String {
        let secret = try settings.get(signingKey)
        try check(linkSecret: secret)
        return secret
    }

    static func check(linkSecret: String) throws {
        guard linkSecret.utf8.count >= 32 else { throw signingKey.invalid("must have at least 32 characters.") }
    }
}
