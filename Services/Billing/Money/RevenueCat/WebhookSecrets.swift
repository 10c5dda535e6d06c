internal import Cryptography
internal import Kernel
internal import Runtime

/// What proves that a webhook comes from RevenueCat. Nothing of a request is parsed before.
struct WebhookSecrets: Sendable {
    /// Hashes of the values that the header may have: several while one takes the place of another.
    private let accepted: [SHA256Digest]
    private let signingKey: HMACSHA256?
    /// How far the time of a signature may be off, by the machine's clock.
    static let tolerance = Interval.minutes(5)

    /// - Parameters:
    ///   - secrets: none: every request is refused.
    ///   - signingSecret: empty: signatures are not asked for.
    init(secrets: SecretList, signingSecret: String) {
        accepted = secrets.secrets.map { Self.hash($0) }
        signingKey = signingSecret.isEmpty ? nil : HMACSHA256(key: signingSecret.utf8)
    }

    /// - Parameters:
    ///   - authorization: the header as it was sent, with or without `Bearer`.
    ///   - signature: `t=…,v1=…`.
    ///   - now: by the machine's clock.
    /// - Throws: `WEBHOOK_REFUSED`, which does not say why.
    func check(authorization: String, signature: String, body: [UInt8], now: Instant) throws(ServiceError) {
        let plain = authorization.hasPrefix("Bearer ") ? String(authorization.dropFirst(7)) : authorization
        let hash = Self.hash(plain)
        // All are compared, each in constant time.
        var isAccepted = false
        for known in accepted where known == hash { isAccepted = true }
        guard isAccepted, hasValidSignature(signature, body, now) else { throw .webhookRefused }
    }

    private func hasValidSignature(_ text: String, _ body: [UInt8], _ now: Instant) -> Bool {
        guard let signingKey else { return true }
        var seconds: Int64?
        var candidates: [[UInt8]] = []
        for part in text.split(separator: ",") {
            let pair = part.filter { $0 != " " }.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else { continue }
            if pair[0] == "t" { seconds = Int64(pair[1]).flatMap { (0..<100_000_000_000).contains($0) ? $0 : nil } }
            if pair[0] == "v1", let bytes = Self.bytes(hex: pair[1]) { candidates.append(bytes) }
        }
        guard let seconds, Instant(seconds: seconds) >= now - Self.tolerance, Instant(seconds: seconds) <= now + Self.tolerance
        else {
            return false
        }
        let message = Array("\(seconds).".utf8) + body
        return candidates.contains { signingKey.isValid($0, for: message) }
    }

    private static func hash(_ text: some StringProtocol) -> SHA256Digest { SHA256.hash(data: text.utf8) }

    private static func bytes(hex: Substring) -> [UInt8]? {
        let digits = hex.compactMap(\.hexDigitValue)
        guard digits.count == hex.count, digits.count % 2 == 0 else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
    }
}

extension ServiceError {
    static let webhookRefused = ServiceError(.unauthenticated, "WEBHOOK_REFUSED", "This webhook was not signed as agreed.")
}
