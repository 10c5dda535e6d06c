public import BlobStore
public import Logging

/// Settings of executables that reach the blob store: `media` and `gateway` must agree on them (D4).
public enum BlobSettings {
    /// The local folder.
    public static let folder = Setting<String>(
        "blob.folder",
        default: nil,
        help: "Folder of photos and uploads; media and gateway must see the same one."
    )
    /// What links are signed with.
    public static let signingKey = Setting<String>(
        "media.signing-key",
        default: nil,
        isSecret: true,
        help: "At least 32 characters; media signs photo links with it, gateway checks them."
    )
    /// The address clients use.
    public static let publicURL = Setting(
        "media.public-url",
        default: "",
        help: "Address before /media/… in photo links, https://api.example.com; empty for relative links."
    )

    /// What both need.
    public static let all: [any AnySetting] = [folder, signingKey]

    /// The store the settings name.
    ///
    /// - Throws: `Settings.Invalid`, or the store's error when the folder cannot be used.
    public static func store(_ settings: Settings, logger: Logger) async throws -> any BlobStore {
        let store = LocalBlobStore(folder: try settings.get(folder), logger: logger)
        try await store.prepare()
        return store
    }
}
