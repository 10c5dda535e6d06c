internal import AuthAPI
internal import AuthCore
internal import Bus
internal import Kernel
internal import ServiceRuntime

/// How the RPCs of `Administration` are put together.
struct AdminParts {
    let endpoints: [Endpoint]

    /// - Parameter sessions: ends sessions, and reports which ended.
    init(
        _ environment: ServiceEnvironment,
        _ core: AuthCore,
        _ lifecycle: AccountLifecycle,
        sessions: (ender: SessionEnder, revocations: RevocationPublisher),
        _ exports: ExportDesk
    ) {
        let (database, mutations) = (environment.database, environment.mutations)
        let log = AdminLog(database: database, clock: environment.clock, ids: environment.ids)
        endpoints = AdministrationService.endpoints(
            listAccounts: ListAccounts(accounts: AccountSearchRepository(database: database), log: log),
            getAccount: GetAccount(
                accounts: core.accounts,
                lifecycle: core.lifecycle,
                sessions: SessionRepository(database: database),
                log: log,
                clock: environment.clock
            ),
            suspendAccount: SuspendAccount(lifecycle: lifecycle, revocations: sessions.revocations, mutations: mutations),
            liftSuspension: LiftSuspension(lifecycle: lifecycle, mutations: mutations),
            signOutAccount: SignOutAccount(
                lifecycle: core.lifecycle,
                ender: sessions.ender,
                revocations: sessions.revocations,
                mutations: mutations
            ),
            exportAccount: ExportAccount(lifecycle: core.lifecycle, desk: exports, log: log),
            listAdminActions: ListAdminActions(actions: AdminActionRepository(database: database))
        )
    }
}
