internal import AuthAPI
internal import AuthDomain
internal import Bus
internal import Cryptography
internal import Kernel
internal import Logging
internal import OutgoingHTTP
internal import Runtime
internal import ServiceRuntime
internal import Wire

/// A request that brings what solves a challenge, where one is asked for.
protocol ChallengedRequest: Message {
    var challenge: String? { get }
    var solution: String? { get }
}

extension RegisterRequest: ChallengedRequest {}
extension CreateGuestSessionRequest: ChallengedRequest {}
extension RequestPasswordResetRequest: ChallengedRequest {}

/// What is asked of who has no session, before a request that costs others (`auth.challenge`): nothing, proof of work, or a token that a
/// provider's widget gave.
///
/// A solution is used up by the request that it is sent with, whatever becomes of that: one solution asks about one address. Only a repeat
/// of the request (idempotency key and body) that was refused may bring it again, a few times.
struct Challenges: Sendable {
    /// What an operator can choose.
    enum Choice: String, CaseIterable {
        case none
        case proofOfWork = "proof-of-work"
        case verifier
    }

    enum Check: Sendable {
        case proofOfWork(ProofOfWork)
        case verifier(ChallengeVerifier)
    }

    /// What came of a request; a label of the metric.
    private enum Outcome: String, CaseIterable {
        case passed, missing, failed, unavailable
    }

    /// Nil: nothing is asked for.
    private let check: Check?
    private let used: ChallengeRepository
    private let clock: any Clock
    private let counters: [Outcome: Counter]

    /// - Parameter secret: what the key of challenges is derived from.
    /// - Throws: `Settings.Invalid`.
    init(_ environment: ServiceEnvironment, secret: String) throws {
        let metrics = environment.metrics
        check = try Self.check(environment.settings, secret: secret, logger: environment.logger)
        (used, clock) = (ChallengeRepository(database: environment.database), environment.clock)
        guard check != nil else {
            counters = [:]
            return
        }
        counters = Outcome.allCases.reduce(into: [:]) { counters, outcome in
            counters[outcome] = metrics.counter(
                "streaksnap_challenges_total",
                [("result", outcome.rawValue)],
                help: "Requests that need a solution: with one, without, with a wrong one, or while the verifier is away."
            )
        }
    }

    /// - Throws: `Settings.Invalid`.
    static func check(_ settings: Settings, secret: String, logger: Logger) throws -> Check? {
        let word = try settings.get(AccountsFeature.challenge)
        guard let choice = Choice(rawValue: word) else {
            let words = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw AccountsFeature.challenge.invalid("is one of \(words), not “\(word)”.")
        }
        switch choice {
        case .none: return nil
        case .proofOfWork:
            return .proofOfWork(ProofOfWork(secret: secret, bits: try settings.get(AccountsFeature.challengeBits)))
        case .verifier:
            return .verifier(
                ChallengeVerifier(
                    url: try verifierURL(settings),
                    secret: try given(AccountsFeature.challengeSecret, settings),
                    http: OutgoingHTTP(threads: 8, queueLimit: 64, keepsConnections: true),
                    logger: logger
                )
            )
        }
    }

    /// Where the verifier is asked.
    private static func verifierURL(_ settings: Settings) throws -> String {
        let url = try given(AccountsFeature.challengeVerifier, settings)
        let isSecure = url.hasPrefix("https://")
        guard isSecure || url.hasPrefix("http://127.0.0.1") || url.hasPrefix("http://localhost") || url.hasPrefix("http://[::1]")
        else { throw AccountsFeature.challengeVerifier.invalid("must begin with https://, or be of this machine, not “\(url)”.") }
        return url
    }

    private static func given(_ setting: Setting<String>, _ settings: Settings) throws -> String {
        let text = try settings.get(setting)
        guard !text.isEmpty else {
            throw setting.invalid("is required with \(AccountsFeature.challenge.argument)=\(Choice.verifier.rawValue).")
        }
        return text
    }

    /// What a client is to solve.
    func challenge(for client: IPAddress?) -> Challenge {
        switch check {
        case nil: return Challenge(kind: .none)
        case .verifier: return Challenge(kind: .verifier)
        case .proofOfWork(let work):
            let (challenge, text) = work.challenge(for: client, now: clock.now())
            return Challenge(
                kind: .proofOfWork,
                challenge: text,
                bits: Int32(challenge.bits),
                expiresAt: challenge.expiresAt
            )
        }
    }

    /// Uses a request's solution up.
    ///
    /// The caller has made sure that the request is no repeat of one that is answered or being worked on (`Mutations.alone`).
    ///
    /// - Throws: `CHALLENGE_REQUIRED`, `CHALLENGE_FAILED`, and `UNAVAILABLE` while the verifier does not answer; nothing where no challenge
    ///   is asked for.
    func require(_ request: some ChallengedRequest, _ context: CallContext) async throws {
        guard let check else { return }
        guard let solution = request.solution, !solution.isEmpty else {
            count(.missing)
            throw ServiceError.challengeRequired
        }
        let now = clock.now()
        guard let use = try await use(of: solution, request, context, check, now), try await used.note(use, now: now) else {
            count(.failed)
            throw ServiceError.challengeFailed
        }
        count(.passed)
    }

    /// The work of a request behind its challenge. A repeat gets the first answer, although its solution is used up.
    func ask<Request: ChallengedRequest, Reply: Message>(
        _ context: CallContext,
        _ request: Request,
        _ mutations: Mutations,
        _ body: () async throws -> Once<Reply>
    ) async throws -> Once<Reply> {
        guard check != nil else { return try await body() }
        return try await mutations.alone(context, request) {
            try await require(request, context)
            return try await body()
        }
    }

    /// What is to be noted of a solution that is right.
    ///
    /// - Returns: nil when the solution is wrong.
    private func use(
        of solution: String,
        _ request: some ChallengedRequest,
        _ context: CallContext,
        _ check: Check,
        _ now: Instant
    ) async throws -> ChallengeRepository.Use? {
        // Keyed, as what is stored of a reply: a reader of the table could try passwords with a plain hash.
        let repeated = try context.idempotencyKey.map { Array(HMACSHA256(key: $0.utf8).code(for: try request.serialized())) }
        func noted(_ text: String, until expiry: Instant) -> ChallengeRepository.Use {
            ChallengeRepository.Use(key: Array(SHA256.hash(data: text.utf8)), request: repeated, expiresAt: expiry)
        }
        switch check {
        case .proofOfWork(let work):
            let solved = work.solved(request.challenge ?? "", with: solution, by: context.clientAddress, now: now)
            return solved.map { noted("work \($0.text)", until: $0.expiresAt) }
        case .verifier(let verifier):
            let use = noted("verifier \(solution)", until: now + ChallengeVerifier.memory)
            // The provider says of a token once that it is right.
            if try await used.isNoted(use) { return use }
            do {
                return try await verifier.isRight(solution, from: context.clientAddress, within: context.remaining) ? use : nil
            } catch let error as ServiceError {
                count(.unavailable)
                throw error
            }
        }
    }

    private func count(_ outcome: Outcome) { counters[outcome]?.increment() }
}
