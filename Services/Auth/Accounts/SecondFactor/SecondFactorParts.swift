internal import AuthAPI
internal import AuthCore
internal import Bus
internal import ServiceRuntime

/// How the RPCs of `SecondFactor` are put together.
struct SecondFactorParts {
    let endpoints: [Endpoint]

    /// - Parameter sessions: ends sessions, and reports which ended.
    init(
        _ environment: ServiceEnvironment,
        _ core: AuthCore,
        _ factors: SecondFactors,
        owner: OwnerProof,
        sessions: (ender: SessionEnder, revocations: RevocationPublisher)
    ) {
        let mutations = environment.mutations
        endpoints = SecondFactorService.endpoints(
            getSecondFactor: GetSecondFactor(accounts: core.accounts, factors: factors),
            startSecondFactor: StartSecondFactor(
                accounts: core.accounts,
                owner: owner,
                factors: factors,
                mutations: mutations
            ),
            confirmSecondFactor: ConfirmSecondFactor(
                accounts: core.accounts,
                factors: factors,
                ender: sessions.ender,
                revocations: sessions.revocations,
                mutations: mutations
            ),
            removeSecondFactor: RemoveSecondFactor(
                accounts: core.accounts,
                owner: owner,
                factors: factors,
                ender: sessions.ender,
                revocations: sessions.revocations,
                mutations: mutations
            )
        )
    }
}
