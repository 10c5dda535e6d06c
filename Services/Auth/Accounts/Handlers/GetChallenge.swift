internal import AuthAPI
internal import Bus

/// What the installation asks of who has no session (`auth.challenge`). Nothing is stored of it, so asking costs the service one hash.
struct GetChallenge: QueryHandler {
    let challenges: Challenges

    func handle(_: GetChallengeRequest, _ context: CallContext) async throws -> Challenge {
        challenges.challenge(for: context.clientAddress)
    }
}
