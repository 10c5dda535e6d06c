internal import AuthAPI
internal import AuthDomain
internal import Bus
internal import Kernel
internal import Passwords
internal import Runtime
internal import Tokens

/// Accounts, sessions and profiles. The table of contents: one handler file per RPC, in `Handlers/`.
///
/// register · login · refresh · logout · getMe · getSigningKeys · listRevocations · getSummaries · listProfileSnapshots ·
/// deleteAccount · restoreAccount · exportMyData
struct AuthService: AuthServiceProtocol {
    let accounts: AccountRepository
    let sessions: SessionRepository
    let revocations: RevocationRepository
    let lifecycle: LifecycleRepository
    let exports: ExportRepository
    let sources: DataSources
    let passwords: PasswordHasher
    let signer: TokenSigner
    let refreshTokens: RefreshTokens
    let mutations: Mutations
    let clock: any Clock
    let ids: any IDSource
}
