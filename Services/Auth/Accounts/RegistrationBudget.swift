internal import AuthDomain
internal import Bus
internal import Database
internal import Kernel
internal import Runtime
internal import ServiceRuntime

/// Bounds registrations by client address and in all: each may send a mail to a stranger, and says whether an address is taken.
///
/// A registration counts when it is asked for, in a transaction of its own before the password is hashed, whatever becomes of it. Only when too
/// many hashes waited it is given back: nothing was done and nothing said. The caller has made sure that it is no repeat of one that is
/// answered or being worked on (`Mutations.alone`).
struct RegistrationBudget: Sendable {
    let database: Database
    let client: ClientBudget
    /// In all, within an hour; 0 for no limit.
    let most: Int
    let clock: any Clock
    private let refusedByAddress: Counter
    private let refusedInAll: Counter

    /// - Throws: `Settings.Invalid`.
    init(_ environment: ServiceEnvironment) throws {
        let (settings, metrics) = (environment.settings, environment.metrics)
        (database, clock) = (environment.database, environment.clock)
        client = ClientBudget(window: MailLimit.client(try settings.get(AccountsFeature.addressRegistrations)))
        most = try settings.get(AccountsFeature.registrations)
        let refused = { (limit: String) in
            metrics.counter(
                "streaksnap_registrations_refused_total",
                [("limit", limit)],
                help: "Registrations refused by a limit: of their address, or of all."
            )
        }
        (refusedByAddress, refusedInAll) = (refused("address"), refused("all"))
    }

    /// Counts a registration.
    ///
    /// - Returns: as of when, for `giveBack`.
    /// - Throws: `RATE_LIMITED` when its address is at its limit, or all are at theirs.
    func take(_ context: CallContext) async throws -> Instant {
        let now = clock.now()
        let keys = client.keys(context)
        guard most > 0 || !keys.isEmpty else { return now }
        do {
            // The address first, always: two transactions never wait for each other crosswise.
            try await database.transaction { sql in
                if let wait = try await MailLimitRepository.count(keys, now: now, sql) {
                    throw Refusal(isOfAll: false, wait: wait)
                }
                if most > 0, let wait = try await RegistrationMinuteRepository.count(most: most, now: now, sql) {
                    throw Refusal(isOfAll: true, wait: wait)
                }
            }
        } catch let refusal as Refusal {
            (refusal.isOfAll ? refusedInAll : refusedByAddress).increment()
            throw ServiceError(
                .resourceExhausted,
                "RATE_LIMITED",
                refusal.isOfAll ? "Too many sign up at present. Try again later." : "Too many registrations. Try again later.",
                retryAfter: refusal.wait
            )
        }
        return now
    }

    /// Counts a registration no more of which nothing came: a client may ask again, and others have its place.
    ///
    /// - Parameter instant: as of when it was counted.
    func giveBack(_ instant: Instant, _ context: CallContext) async throws {
        let keys = client.keys(context)
        guard most > 0 || !keys.isEmpty else { return }
        // In the order of `take`.
        try await database.transaction { sql in
            try await MailLimitRepository.giveBack(keys, at: instant, sql)
            if most > 0 { try await RegistrationMinuteRepository.giveBack(at: instant, sql) }
        }
    }

    /// Deletes minutes that are over. - Returns: how many.
    func purge(now: Instant) async throws -> Int { try await RegistrationMinuteRepository(database: database).purge(now: now) }

    private struct Refusal: Error {
        let isOfAll: Bool
        let wait: Int
    }
}
