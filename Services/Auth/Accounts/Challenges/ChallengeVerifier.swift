internal import AuthDomain
internal import Kernel
internal import Logging
internal import OutgoingHTTP

/// Asks a provider of challenges whether a token of its widget is right: the `siteverify` of Turnstile, hCaptcha and reCAPTCHA, or a
/// service of the operator's that answers like them.
struct ChallengeVerifier: Sendable {
    /// How long a token counts as used here; the provider says itself when one is too old, which is earlier.
    static let memory = Interval.minutes(10)
    /// Time limit of one question.
    private static let timeout = Interval.seconds(5)
    /// What providers say when they cannot judge.
    private static let failures: Set<String> = ["internal-error", "bad-request", "sitekey-secret-mismatch"]

    let url: String
    /// What the provider knows the installation by.
    let secret: String
    let http: OutgoingHTTP
    let logger: Logger

    /// Whether the provider says that the token is right.
    ///
    /// - Parameter time: how long the caller waits; at most 5 s are.
    /// - Throws: `UNAVAILABLE` while it gives no answer, or does not know the installation.
    func isRight(_ token: String, from client: IPAddress?, within time: Interval) async throws -> Bool {
        do {
            let reply = try await http.send(request(token, client, min(time, Self.timeout)))
            guard reply.status == 200 else { throw OutgoingHTTP.Failure.unreachable("status \(reply.status)") }
            let answer = try Answer(reply.body)
            // The installation's mistake, or the provider's, not the client's: «invalid-input-secret», «sitekey-secret-mismatch».
            if let code = answer.codes.first(where: { Self.failures.contains($0) || $0.hasSuffix("input-secret") }) {
                throw OutgoingHTTP.Failure.unreachable(code)
            }
            if !answer.isRight { logger.debug("a challenge was not solved", metadata: ["codes": "\(answer.codes)"]) }
            return answer.isRight
        } catch let error where !(error is CancellationError) {
            logger.warning("the verifier of challenges does not answer", metadata: ["error": "\(error)"])
            throw ServiceError(
                .unavailable,
                "UNAVAILABLE",
                "Whether the challenge is solved cannot be found out right now.",
                retryAfter: 5
            )
        }
    }

    private func request(_ token: String, _ client: IPAddress?, _ time: Interval) -> OutgoingHTTP.Request {
        var fields = [("secret", secret), ("response", token)]
        if let client { fields.append(("remoteip", "\(client)")) }
        let form = fields.map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&")
        return OutgoingHTTP.Request(
            "POST",
            url,
            headers: [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")],
            body: Array(form.utf8),
            timeout: time,
            mostBytes: 64 << 10
        )
    }

    /// What the provider says.
    private struct Answer {
        var isRight = false
        /// Why not.
        var codes: [String] = []

        init(_ bytes: [UInt8]) throws(JSONProblem) {
            var reader = JSONReader(bytes)
            try reader.beginObject()
            while let name = try reader.nextName() {
                switch name {
                case "success": isRight = try reader.bool()
                case "error-codes":
                    guard try reader.kind() == .array else { continue }
                    try reader.beginArray()
                    while try reader.nextElement() { codes.append(try reader.string()) }
                default: break
                }
            }
            try reader.finish()
        }
    }
}
