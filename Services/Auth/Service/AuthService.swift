internal import AuthAPI
internal import AuthDomain
internal import AuthDomain
internal import Bus
internal import Kernel
internal import Logging
internal import Passwords
internal import Replicas
internal import ServiceRuntime

/// Accounts, sessions and profiles. The table of contents: one handler file per RPC, in `Handlers/`.
///
/// register · login · refresh · logout · getMe · getSigningKeys · signInWithApple · appleNotification · createGuestSession · useGuestPeek ·
/// updateMe · checkUsername · getProfile · acceptTerms · listRevocations · getSummaries · listProfileSnapshots · deleteAccount ·
/// restoreAccount · exportMyData
struct AuthService: AuthServiceProtocol {
    let accounts: AccountRepository
    let sessions: SessionRepository
    let revocations: RevocationRepository
    let lifecycle: LifecycleRepository
    let blocks: BlockReplica
    let exportMyData: ExportMyData
    let loginFailures: LoginFailureRepository
    let guests: GuestRepository
    let appleUsers: AppleRepository
    let apple: AppleVerifier
    let passwords: PasswordHasher
    let keys: KeyRing
    let refreshTokens: RefreshTokens
    /// The terms to accept now (AU-9); nil when the installation does not say.
    let termsInForce: TermsVersion?
    let mutations: Mutations
    let clock: any Clock
    let ids: any IDSource
    let logger: Logger
}

extension CallContext {
    /// For whom a password of this call is hashed.
    func hashRequester(_ purpose: HashRequester.Purpose) -> HashRequester {
        HashRequester(purpose, address: clientAddress, deadline: deadline)
    }
}
