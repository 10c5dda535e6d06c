internal import Kernel

/// A JWT as it was sent (RFC 7515, 7.1): three parts in strict base64url, of which nothing is genuine yet.
///
/// Which algorithm verifies it is decided by the key; the token only says the same, or is refused.
struct SignedText {
    /// `alg` of the header.
    let algorithm: String
    /// `kid` of the header.
    let keyID: String
    /// The claims as JSON.
    let payload: [UInt8]
    let signature: [UInt8]
    /// What is signed: the first two parts, with the dot.
    let input: Substring

    /// nil for anything but three parts with a header that names an algorithm and a key, each once, and asks for nothing else to be understood
    /// (`crit`).
    init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
            .map { Substring($0) }
        guard parts.count == 3, let header = Base64URL.decode(parts[0]), let payload = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2]), let fields = try? Self.fields(header), fields["crit"] == nil,
            case .some(.some(let algorithm)) = fields["alg"], case .some(.some(let keyID)) = fields["kid"]
        else { return nil }
        self.algorithm = algorithm
        self.keyID = keyID
        self.payload = payload
        self.signature = signature
        self.input = text[..<parts[1].endIndex]
    }

    /// The members of a header; nil for one that is no text.
    private static func fields(_ header: [UInt8]) throws(JSONProblem) -> [String: String?] {
        var reader = JSONReader(header, limits: .init(depth: 4, members: 20, stringBytes: 4_096, values: 100))
        var fields: [String: String?] = [:]
        try reader.beginObject()
        while let name = try reader.nextName() {
            fields[name] = .some(try reader.kind() == .string ? try reader.string() : nil)
        }
        try reader.finish()
        return fields
    }

    /// A header, and the beginning of what is signed with it.
    static func beginning(algorithm: String, keyID: String) -> String {
        var header = JSONWriter()
        header.beginObject()
        for (name, value) in [("alg", algorithm), ("kid", keyID), ("typ", "JWT")] {
            header.name(name)
            header.string(value)
        }
        header.endObject()
        return Base64URL.encode(header.bytes) + "."
    }
}
