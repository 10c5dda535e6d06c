public import BlobStore
public import Logging
public import Runtime

/// Settings of executables that reach the blob store: `media` and `gateway` must agree on them (D4).
public enum BlobSettings {
    /// Which store.
    public static let kind = Setting(
        "blob.store",
        default: "local",
        help:
            "Where photos and uploads are: local, a folder; s3, a bucket of a store with S3's operations. The same for media and gateway."
    )
    /// The local folder.
    public static let folder = Setting<String>(
        "blob.folder",
        default: nil,
        help: "With local: folder of photos and uploads; media and gateway must see the same one."
    )
    /// Where uploads lie on their way to S3.
    public static let spoolFolder = Setting(
        "blob.spool-folder",
        default: "/tmp",
        help: "With s3: folder for uploads on their way to it, up to 10 MiB each; nothing in it has to last."
    )
    /// What links are signed with.
    public static let signingKey = Setting<String>(
        "media.signing-key",
        default: nil,
        isSecret: true,
        help: "At least 32 characters; media signs photo links with it, gateway checks them."
    )
    /// What both need.
    public static let all: [any AnySetting] = [kind, folder, spoolFolder, signingKey] + S3Settings.all

    /// The store the settings name.
    ///
    /// - Throws: `Settings.Invalid`, or the store's error when its folder cannot be used.
    public static func store(_ settings: Settings, logger: Logger) async throws -> any BlobStore {
        switch try settings.get(kind) {
        case "local":
            let store = LocalBlobStore(folder: try settings.get(folder), logger: logger)
            try await store.prepare()
            return store
        case "s3":
            return try await S3Settings.store(settings, spoolFolder: try settings.get(spoolFolder), logger: logger)
        default: throw kind.invalid("must be local or s3.")
        }
    }
}

extension Setting {
    /// This setting cannot be used.
    func invalid(_ problem: String) -> Settings.Invalid { Settings.Invalid("\(names) \(problem)") }

    /// As argument and as variable.
    var names: String { "\(argument) (or \(environmentName))" }
}
