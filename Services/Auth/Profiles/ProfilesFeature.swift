internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Bus
internal import Database
internal import Kernel
internal import Replicas
internal import Runtime
package import ServiceRuntime
internal import StreaksAPI

/// Profiles: of the caller, as others see them, and as other services keep them (AU-9 … AU-11). It needs no signing keys: what only reads
/// profiles cannot sign tokens.
package enum ProfilesFeature {
    package static let feature = ServiceFeature(
        "profiles",
        settings: [TermsSettings.version],
        migrations: [MigrationSet("block_replica", BlockReplica.migrations)],
        personalData: [BlockReplica.personalData]
    ) { environment in
        let core = try AuthCore(environment)
        let accounts = core.accounts
        let blocks = BlockReplica(database: environment.database, bus: environment.bus)
        return FeatureParts(
            endpoints: ProfilesService.endpoints(
                getMe: GetMe(accounts: accounts, clock: environment.clock),
                updateMe: UpdateMe(
                    accounts: accounts,
                    writer: core.writer,
                    names: core.names,
                    mutations: environment.mutations
                ),
                acceptTerms: AcceptTerms(
                    writer: core.writer,
                    inForce: try termsInForce(environment.settings),
                    mutations: environment.mutations
                ),
                checkUsername: CheckUsername(accounts: accounts),
                getProfile: GetProfile(
                    accounts: accounts,
                    blocks: blocks,
                    checkIns: CheckInsClient(environment.bus)
                ),
                getSummaries: GetSummaries(accounts: accounts),
                listProfileSnapshots: ListProfileSnapshots(accounts: accounts)
            ),
            consumers: blocks.handlers() + [AvatarConsumer(writer: core.writer).handler],
            jobs: [blocks.snapshotJob]
        )
    }

    private static func termsInForce(_ settings: Settings) throws -> TermsVersion? {
        let text = try settings.get(TermsSettings.version)
        guard !text.isEmpty else { return nil }
        guard let version = TermsVersion(text) else {
            throw Settings.Invalid("--auth-terms-version must be numbers between dots or hyphens, 2.1 or 2026-01.")
        }
        return version
    }
}
