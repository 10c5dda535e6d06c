/// A replica of a service as it describes itself on the bus (ADR-32).
struct ServiceInstance: Decodable, Sendable, Hashable {
    /// The service's name, `auth`.
    let name: String
    /// Of this replica, unique on the bus.
    let id: String
    /// Of the software.
    let version: String
    /// What it says of itself beyond that: the hash of its descriptor, its features, ….
    let metadata: [String: String]

    init(name: String, id: String, version: String, metadata: [String: String]) {
        self.name = name
        self.id = id
        self.version = version
        self.metadata = metadata
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        name = try values.decode(String.self, forKey: .name)
        // It becomes part of a subject.
        guard !name.isEmpty, name.utf8.allSatisfy(Self.isNamePart) else {
            throw DecodingError.dataCorruptedError(forKey: .name, in: values, debugDescription: "is not a name of a service")
        }
        id = try values.decode(String.self, forKey: .id)
        version = try values.decode(String.self, forKey: .version)
        metadata = try values.decodeIfPresent([String: String].self, forKey: .metadata) ?? [:]
    }

    private static func isNamePart(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte) || byte == 45 || byte == 95
    }

    private enum CodingKeys: String, CodingKey {
        case name, id, version, metadata
    }

    /// Whether it makes a change once for each idempotency key.
    var honoursKeys: Bool { metadata["idempotency-keys"] == "honoured" }

    /// SHA-256 of its descriptor, 64 lower-case hexadecimal digits; nil when it has none.
    var descriptor: String? {
        guard let hash = metadata["descriptor"], hash.utf8.count == 64,
            hash.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) })
        else { return nil }
        return hash
    }
}
