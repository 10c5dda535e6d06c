internal import AuthDomain
internal import Cryptography
internal import Kernel

/// Makes challenges of proof of work and checks what solves them, each in microseconds and without a table.
///
/// A challenge is under an HMAC for the client's network (IPv6: its /64), so that no other network can use it and no client makes it
/// easier. All replicas have the same key. What the setting says holds for new challenges: each has its own number of bits.
struct ProofOfWork: Sendable {
    /// Zero bits of new challenges.
    let bits: Int
    private let key: HMACSHA256

    /// - Parameter secret: the one that refresh tokens are derived with; the texts that are hashed begin with different words.
    init(secret: String, bits: Int) {
        self.bits = bits
        key = HMACSHA256(key: secret.utf8)
    }

    /// A new challenge, and its text for a client.
    func challenge(for client: IPAddress?, now: Instant) -> (challenge: WorkChallenge, text: String) {
        let challenge = WorkChallenge(bits: bits, id: Base64URL.encode(Unguessable.bytes(16)), now: now)
        let code = key.code(for: Self.message(challenge.text, client))
        return (challenge, "\(challenge.text).\(Base64URL.encode(code))")
    }

    /// The challenge of a text, if it was made here for the client, still counts, and is solved; nil otherwise.
    func solved(_ text: String, with solution: String, by client: IPAddress?, now: Instant) -> WorkChallenge? {
        guard let end = text.lastIndex(of: "."), let code = Base64URL.decode(text[text.index(after: end)...]),
            key.isValid(code, for: Self.message(text[..<end], client)), let challenge = WorkChallenge(text: text[..<end]),
            challenge.isSolved(by: Self.hash(text, solution), now: now)
        else { return nil }
        return challenge
    }

    /// What must begin with zero bits.
    static func hash(_ challenge: String, _ solution: String) -> SHA256Digest {
        SHA256.hash(data: "\(challenge):\(solution)".utf8)
    }

    /// Calls that no client stands behind have no address.
    private static func message(_ text: some StringProtocol, _ client: IPAddress?) -> String.UTF8View {
        "challenge \(text) \(client.map { "\($0.site)" } ?? "-")".utf8
    }
}
