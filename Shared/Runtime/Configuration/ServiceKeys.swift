internal import Cryptography
internal import Kernel

/// The private half of a service's deployment key (D23): Ed25519, which only the processes of that service have. What it signs shows that it
/// comes from the service's deployment, which a password of the bus does not show.
public struct ServiceKey: SettingValue, CustomStringConvertible, CustomReflectable {
    private let key: Ed25519.PrivateKey

    /// A key in PEM (PKCS #8), as `openssl genpkey -algorithm ed25519` writes it; nil for any other text.
    public init?(settingText text: String) {
        guard let key = try? Ed25519.PrivateKey(pem: text) else { return nil }
        self.key = key
    }

    public static var settingTypeName: String { "an Ed25519 key in PEM, as openssl genpkey -algorithm ed25519 makes it" }

    /// The public half: 32 bytes in base64url, as `service.public-keys` lists it.
    public var publicText: String { Base64URL.encode(key.publicKey.bytes) }

    /// A signature of a statement: 64 bytes in base64url.
    ///
    /// - Throws: an error of OpenSSL: without memory.
    public func sign(_ statement: ServiceStatement) throws -> String {
        Base64URL.encode(try key.signature(for: statement.text.utf8))
    }

    /// Nothing of the key.
    public var description: String { "ServiceKey" }
    /// Nothing of the key.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The public halves of the keys of services, by the names of the services on the bus. A service has several while one takes the place of
/// another.
public struct ServicePublicKeys: SettingValue, CustomStringConvertible {
    private let keys: [String: [Ed25519.PublicKey]]

    /// `auth=KEY,social=KEY`, each key 32 bytes in base64url without padding; nil for any other text.
    public init?(settingText text: String) {
        var keys: [String: [Ed25519.PublicKey]] = [:]
        for entry in text.settingEntries {
            let parts = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, ServiceName.isValid(String(parts[0])), let bytes = Base64URL.decode(parts[1]),
                let key = try? Ed25519.PublicKey(bytes)
            else { return nil }
            keys[String(parts[0]), default: []].append(key)
        }
        self.keys = keys
    }

    private init() { keys = [:] }

    /// None: nothing is checked.
    public static let none = ServicePublicKeys()

    public static var settingTypeName: String { "service=key pairs separated by commas, each key 32 bytes in base64url" }

    /// Whether there is no key at all.
    public var isEmpty: Bool { keys.isEmpty }

    /// Whether a service has a key.
    public func has(_ service: String) -> Bool { keys[service] != nil }

    /// Whether one of a service's keys has signed a statement.
    ///
    /// - Parameter signature: 64 bytes in base64url; any other text is no signature.
    public func verify(_ signature: String, of statement: ServiceStatement, by service: String) -> Bool {
        guard let bytes = Base64URL.decode(signature) else { return false }
        return keys[service]?.contains { $0.isValid(bytes, for: statement.text.utf8) } ?? false
    }

    public var description: String { keys.keys.sorted().joined(separator: ",") }
}

/// What a service signs with its deployment key. Each kind begins with a line of its own, so that one is never taken for another
/// (`deploy/docs/bus-protocol.md`).
public struct ServiceStatement: Sendable, Hashable {
    /// Lines without a break at the end.
    let text: String

    /// What the metadata of a replica (`$SRV.PING`) calls the signature of its descriptor.
    public static let descriptorField = "descriptor-signature"

    private init(_ lines: [String]) { text = lines.joined(separator: "\n") }

    /// That a descriptor is the service's, in this version.
    ///
    /// - Parameters:
    ///   - service: its name on the bus.
    ///   - version: of the software, as `$SRV.PING` says it: of two descriptors the higher version counts.
    ///   - sha256: of the descriptor, 64 lower-case hexadecimal digits.
    public static func descriptor(service: String, version: String, sha256: String) -> ServiceStatement {
        ServiceStatement(["streaksnap.descriptor.v1", service, version, sha256])
    }

    /// That these are the keys that verify access tokens.
    ///
    /// - Parameters:
    ///   - service: who signs tokens.
    ///   - signedAt: seconds since 1970, UTC.
    ///   - keys: the members of each key in a JWK set, in its order.
    public static func tokenKeys(
        service: String,
        signedAt: Int64,
        keys: [(kty: String, crv: String, kid: String, x: String, y: String)]
    ) -> ServiceStatement {
        ServiceStatement(
            ["streaksnap.token-keys.v1", service, "\(signedAt)"]
                + keys.map { [$0.kty, $0.crv, $0.kid, $0.x, $0.y].joined(separator: " ") }
        )
    }
}

/// The settings by which processes know each other.
public enum ServiceKeySettings {
    /// The key of the service itself.
    public static let key = Setting<ServiceKey>(
        "service.key",
        default: nil,
        isSecret: true,
        help:
            "The service's own Ed25519 key in PEM, which signs its descriptor; gateways with service.public-keys refuse one without."
    )
    /// The keys of all services. Not secret, but long: it can come from a file, as secrets can.
    public static let publicKeys = Setting<ServicePublicKeys>(
        "service.public-keys",
        default: ServicePublicKeys.none,
        isSecret: true,
        help:
            "Public keys of the services, auth=KEY,social=KEY; what these have not signed is refused. Empty: nothing is checked."
    )
}
