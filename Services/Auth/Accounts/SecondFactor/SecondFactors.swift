internal import AuthCore
internal import AuthDomain
internal import Bus
internal import CommonAPI
internal import Database
internal import Kernel
internal import Logging
internal import NotificationsAPI
internal import Outbox

/// Asks accounts that have a second factor for a code, wherever a session begins and wherever the factor itself is changed.
///
/// A guess is counted before it is judged, in a transaction of its own, and taken back with the change that a right code allows: so however
/// many codes are tried at once, ten are answered (AU-12). Whether an account has a second factor is known only inside the change's transaction;
/// that of a first try ends there with `Uncounted`, and `counting` begins it again.
struct SecondFactors: Sendable {
    let repository: SecondFactorRepository
    let accounts: AccountRepository
    let failures: LoginFailureRepository
    let secrets: SecondFactorSecrets
    let mails: AccountMails
    let rule: SecondFactorRule
    /// The product clock, which failures are counted by.
    let clock: any Clock
    /// The machine's clock, which codes are of.
    let codeClock: any Clock
    let logger: Logger

    /// What a caller sent to prove to have the second factor.
    struct Proof: Sendable {
        /// As typed; empty when nothing was sent.
        let typed: String
        /// Set when the guess is counted.
        fileprivate(set) var counted: Counted?

        /// For accounts that cannot have a second factor yet.
        static let none = Proof(typed: "")
    }

    /// A guess that counts as a failed sign-in until it turns out to be right.
    struct Counted: Sendable {
        fileprivate let account: UserID
        fileprivate let keys: LoginFailureRepository.Keys
        fileprivate let at: Instant
    }

    /// The account has a second factor, and the guess is not counted yet.
    struct Uncounted: Error { let account: UserID }

    /// Runs a change that may need a code; once more when it does.
    ///
    /// - Throws: `RATE_LIMITED` when the account or the address is at its limit, and whatever `body` throws.
    func counting<Result: Sendable>(
        _ code: String?,
        _ context: CallContext,
        _ body: @Sendable (Proof) async throws -> Result
    ) async throws -> Result {
        var proof = Proof(typed: code ?? "")
        do { return try await body(proof) } catch let uncounted as Uncounted {
            proof.counted = try await count(uncounted.account, context)
            return try await body(proof)
        }
    }

    private func count(_ account: UserID, _ context: CallContext) async throws -> Counted {
        guard let email = try await accounts.find(account)?.email else { throw ServiceError.invalidCredentials }
        // Apple may keep the address to itself.
        let key = email.isEmpty ? "\(account)" : AccountRepository.key(ofEmail: email)
        let now = clock.now()
        let counted = Counted(
            account: account,
            keys: try await failures.keys(emailKey: key, address: context.clientAddress, now: now),
            at: now
        )
        try await failures.record(counted.keys, now: counted.at)
        return counted
    }

    /// Takes back what was counted, if the transaction ends well; before it locks the account, as sign-ins do.
    ///
    /// - Returns: whether the proof was counted.
    @discardableResult
    func takeBack(_ proof: Proof, _ work: UnitOfWork) async throws -> Bool {
        guard let counted = proof.counted else { return false }
        try await failures.takeBack(counted.keys, at: counted.at, work.sql)
        return true
    }

    /// Stops who has no code of an account's second factor. The account is locked; one without a second factor passes. The use of a recovery code
    /// is an entry of the audit log, and the owner gets a mail of it.
    ///
    /// - Parameter removing: whether the factor is removed with this code; then the mail is that of the removal, which the caller sends.
    /// - Throws: `SECOND_FACTOR_REQUIRED`, `SECOND_FACTOR_INVALID`, `Uncounted`.
    func require(_ proof: Proof, of account: Account, removing: Bool = false, _ work: UnitOfWork) async throws {
        guard let row = try await repository.lock(account.id, work.sql), let sealed = row.secret else { return }
        guard !proof.typed.isEmpty else { throw ServiceError.secondFactorRequired }
        try requireCounted(proof, of: account.id)
        if let code = RecoveryCode.normalized(proof.typed) {
            let left = try await use(code, of: account.id, work)
            if !removing { try await mails.inform(account, .recoveryCodeUsed, recoveryCodesLeft: left, work) }
            return
        }
        let step = try acceptedStep(of: proof.typed, sealed, of: account.id, after: row.lastStep)
        try await repository.store(lastStep: step, of: account.id, work.sql)
    }

    /// Uses up a recovery code, with an entry of the audit log.
    ///
    /// - Parameter code: normalized.
    /// - Returns: how many are left.
    /// - Throws: `SECOND_FACTOR_INVALID`.
    private func use(_ code: String, of account: UserID, _ work: UnitOfWork) async throws -> Int32 {
        guard try await repository.use(recoveryCode: secrets.hash(code), of: account, work.sql) else {
            throw ServiceError.secondFactorInvalid
        }
        // The row of the factor is locked: no other one is used meanwhile.
        let left = try await repository.state(of: account, work.sql)?.codesLeft ?? 0
        try await AdminLog.note(.useRecoveryCode, of: account, by: account, "\(left) left", work)
        return left
    }

    /// A guess that is not counted could be repeated without end.
    ///
    /// - Throws: `Uncounted`.
    func requireCounted(_ proof: Proof, of account: UserID) throws {
        guard proof.counted?.account == account else { throw Uncounted(account: account) }
    }

    /// The step of a code of a stored secret.
    ///
    /// - Parameter last: the newest step that was used.
    /// - Throws: `SECOND_FACTOR_INVALID`.
    func acceptedStep(of typed: String, _ sealed: [UInt8], of account: UserID, after last: Int64) throws -> Int64 {
        guard let secret = secrets.open(sealed, of: account) else {
            logger.error(
                "a second factor cannot be read: --auth-refresh-secret is another one than when it was stored",
                metadata: ["user": "\(account)"]
            )
            throw ServiceError.secondFactorInvalid
        }
        let digits = typed.filter { $0 != " " }
        let step = TimeBasedCode.acceptedStep(of: digits, at: codeClock.now(), after: last) {
            SecondFactorSecrets.authenticate($0, secret: secret)
        }
        guard let step else { throw ServiceError.secondFactorInvalid }
        return step
    }

    /// What an account may do with its next access token.
    func rights(of account: Account, _ sql: some QueryExecutor) async throws -> SecondFactorRule.Rights {
        // Only administrators cost a look.
        guard account.isAdmin else { return .user }
        let isEnrolled = try await repository.state(of: account.id, sql)?.enrolledAt != nil
        return rule.rights(isAdmin: true, isEnrolled: isEnrolled)
    }
}
