internal import BlobStore
internal import Logging
public import Runtime

/// Settings of a bucket; read when `blob.store` is `s3`.
public enum S3Settings {
    /// The server.
    public static let endpoint = Setting(
        "blob.s3.endpoint",
        default: "",
        help: "With s3: https://HOST[:PORT] of the store, or http in a private network; empty: AWS in the region."
    )
    /// Where clients send files to.
    public static let uploadEndpoint = Setting(
        "blob.s3.upload-endpoint",
        default: "",
        help:
            "With s3: https://HOST[:PORT] at which clients reach the store, to send large files to it by presigned links; empty: blob.s3.endpoint; gateway: clients cannot reach it and send them through the gateway."
    )
    /// The region.
    public static let region = Setting<String>(
        "blob.s3.region",
        default: nil,
        help: "With s3: region of the bucket, eu-central-1; stores without regions expect us-east-1."
    )
    /// The bucket.
    public static let bucket = Setting<String>(
        "blob.s3.bucket",
        default: nil,
        help: "With s3: the bucket; it must exist and must not be public."
    )
    /// A folder of the bucket.
    public static let prefix = Setting(
        "blob.s3.prefix",
        default: "",
        help: "With s3: folder of the bucket in which everything is stored, streaksnap/production; empty: the bucket itself."
    )
    /// Where the bucket's name is in the URL.
    public static let pathStyle = Setting(
        "blob.s3.path-style",
        default: false,
        help: "With s3: the bucket is the first part of the path instead of the host; most self-hosted stores need this."
    )
    /// The id of the access key.
    public static let keyID = Setting<String>(
        "blob.s3.key-id",
        default: nil,
        isSecret: true,
        help: "With s3: id of the access key, which must be allowed to list the bucket and to get, put and delete its objects."
    )
    /// The secret that signs requests.
    public static let secret = Setting<String>(
        "blob.s3.secret",
        default: nil,
        isSecret: true,
        help: "With s3: secret of the access key."
    )

    /// The number of requests at once.
    public static let connections = Setting(
        "blob.s3.connections",
        default: 16,
        help:
            "With s3: requests to the store at once, 1 to 512; 256 more wait, further ones get STORAGE_UNAVAILABLE."
    )

    /// All settings of a bucket.
    public static let all: [any AnySetting] = [
        endpoint, uploadEndpoint, region, bucket, prefix, pathStyle, keyID, secret, connections,
    ]

    static func store(_ settings: Settings, spoolFolder: String, logger: Logger) async throws -> any BlobStore {
        let connections = try settings.get(connections)
        guard (1...512).contains(connections) else { throw Self.connections.invalid("must be 1 to 512.") }
        let store = S3BlobStore(
            try address(settings, endpoint),
            uploadAddress: try uploadAddress(settings),
            region: try settings.get(region),
            credentials: SigV4.Credentials(keyID: try text(keyID, settings), secret: try text(secret, settings)),
            prefix: try folder(settings),
            spoolFolder: spoolFolder,
            connections: connections,
            logger: logger
        )
        do {
            try await store.prepare()
        } catch S3BlobStore.Unusable.noBucket(let cause) {
            throw Settings.Invalid("The store \(endpoint.names) has no bucket with the name in \(bucket.names) (\(cause)).")
        } catch S3BlobStore.Unusable.denied(let cause) {
            throw Settings.Invalid(
                "The blob store refuses \(keyID.names) and \(secret.names), or \(region.names) is wrong (\(cause))."
            )
        }
        return store
    }

    /// nil when clients cannot reach the store.
    private static func uploadAddress(_ settings: Settings) throws -> S3Address? {
        switch try settings.get(uploadEndpoint) {
        case "gateway": nil
        case "": try address(settings, endpoint)
        default: try address(settings, uploadEndpoint)
        }
    }

    private static func address(_ settings: Settings, _ endpoint: Setting<String>) throws -> S3Address {
        do {
            return try S3Address(
                endpoint: try settings.get(endpoint),
                region: try settings.get(region),
                bucket: try settings.get(bucket),
                pathStyle: try settings.get(pathStyle)
            )
        } catch let problem as S3Address.Problem {
            switch problem {
            case .endpoint(let text): throw endpoint.invalid("\(text).")
            case .region(let text): throw region.invalid("\(text).")
            case .bucket(let text): throw bucket.invalid("\(text).")
            }
        }
    }

    private static func folder(_ settings: Settings) throws -> BlobKey? {
        let text = try settings.get(prefix)
        if text.isEmpty { return nil }
        guard let key = try? BlobKey(text) else { throw prefix.invalid("must be a folder without slashes at its start and end.") }
        return key
    }

    /// The value is not shown.
    private static func text(_ setting: Setting<String>, _ settings: Settings) throws -> String {
        let value = try settings.get(setting)
        guard !value.isEmpty, value.utf8.allSatisfy({ (33...126).contains($0) }) else {
            throw setting.invalid("must be letters, digits and signs without spaces.")
        }
        return value
    }
}
