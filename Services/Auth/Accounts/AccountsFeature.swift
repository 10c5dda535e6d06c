internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import BlobConfiguration
internal import Database
internal import Kernel
internal import Outbox
internal import OutgoingHTTP
internal import Passwords
package import Runtime
package import ServiceRuntime

/// Registration, sign-in, sessions, guests, and the life of an account (AU-1 … AU-8).
package enum AccountsFeature {
    package static let keyFolder = Setting<String>(
        "auth.key-folder",
        default: nil,
        help: "Folder of P-256 keys in PEM (*.pem) that sign access tokens; the newest signs. One is made when it is empty."
    )
    static let bcryptCost = Setting(
        "auth.bcrypt-cost",
        default: 12,
        in: 4...14,
        help: "Cost of new password hashes, 4 to 14; each step doubles the time."
    )
    static let refreshSecret = Setting<String>(
        "auth.refresh-secret",
        default: nil,
        isSecret: true,
        isShared: true,
        help: "At least 32 characters; refresh tokens, tokens in mails and the key of second factors are derived from it."
    )
    static let sessionDays = Setting(
        "auth.session-days",
        default: 60,
        in: RefreshFamily.days,
        help: "Days a session goes on after its last use, 1 to 400. Another number holds for a session from its next use on."
    )
    static let appleClients = Setting(
        "auth.apple-client-ids",
        default: "",
        help:
            "Ids of the apps that sign in with Apple (bundle or service ids), separated by commas. None: Sign in with Apple is off."
    )
    static let appleKeys = Setting(
        "auth.apple-keys-url",
        default: "https://appleid.apple.com/auth/keys",
        help: "Where Apple's public keys are; https, or http on this machine."
    )
    static let addressRegistrations = Setting(
        "auth.address-registrations",
        default: 30,
        in: 0...1_000,
        help:
            "Registrations, and mails asked for without signing in, from one address (IPv6: one /64) within an hour. 0: no limit."
    )
    static let registrations = Setting(
        "auth.registrations",
        default: 1_000,
        in: 0...1_000_000,
        help: "Registrations in all within an hour. 0: no limit."
    )
    static let privateRegistration = Setting(
        "auth.private-registration",
        default: false,
        help:
            "Registration answers the same for an address with an account and one without, and a mail says the rest: no tokens until its link was used."
    )
    static let challenge = Setting(
        "auth.challenge",
        default: Challenges.Choice.none.rawValue,
        help:
            "What registration, a guest's token and a mail for a new password ask of callers: none; proof-of-work: some hashes; verifier: a token of a provider's widget."
    )
    static let challengeBits = Setting(
        "auth.challenge-bits",
        default: 18,
        in: WorkChallenge.difficulty,
        help: "Zero bits that the hash of a proof of work begins with, 8 to 24; each more doubles the client's work."
    )
    static let challengeVerifier = Setting(
        "auth.challenge-verifier-url",
        default: "",
        help: "Where the verifier's tokens are checked, as Turnstile's siteverify is asked; https, or http on this machine."
    )
    static let challengeSecret = Setting(
        "auth.challenge-verifier-secret",
        default: "",
        isSecret: true,
        help: "What the verifier knows this installation by."
    )
    static let secondFactor = Setting(
        "auth.admin-second-factor",
        default: SecondFactorRule.required.rawValue,
        help: "required: without a second factor an administrator may only get one. enrolled: only those who have one are asked."
    )
    static let exportReply = Setting(
        "auth.export-reply-bytes",
        default: ExportDesk.mostBytes,
        help: "Largest export of personal data that is a reply, 10,000 to 8,000,000 bytes; a larger one is made as a file."
    )
    static let exportServices = Setting(
        "auth.export-services",
        default: "",
        help: "Services of other repositories whose part is in each export of personal data, separated by commas."
    )

    /// The feature.
    ///
    /// - Parameter declared: what all features of the service hold about users: it is exported and erased here.
    package static func feature(_ declared: @escaping @Sendable () -> [PersonalData]) -> ServiceFeature {
        ServiceFeature(
            "accounts",
            settings: [
                keyFolder, bcryptCost, refreshSecret, sessionDays, appleClients, appleKeys, secondFactor, exportReply,
                exportServices, addressRegistrations, registrations, privateRegistration, challenge, challengeBits,
                challengeVerifier, challengeSecret,
            ]
                + BlobSettings.all,
            migrations: [
                MigrationSet(
                    "accounts",
                    [
                        Migration(version: 1, name: "sessions", sql: PackageResources.V0001_sessions_sql),
                        Migration(version: 2, name: "admin_actions", sql: PackageResources.V0002_admin_actions_sql),
                        Migration(version: 3, name: "second_factor", sql: PackageResources.V0003_second_factor_sql),
                        Migration(version: 4, name: "recovery_code_mail", sql: PackageResources.V0004_recovery_code_mail_sql),
                        Migration(version: 5, name: "ended_in_mail", sql: PackageResources.V0005_ended_in_mail_sql),
                        Migration(version: 6, name: "apple_token", sql: PackageResources.V0006_apple_token_sql),
                        Migration(version: 7, name: "linked_apple", sql: PackageResources.V0007_linked_apple_sql),
                        Migration(version: 8, name: "registration_request", sql: PackageResources.V0008_registration_request_sql),
                        Migration(version: 9, name: "challenge_use", sql: PackageResources.V0009_challenge_use_sql),
                    ]
                ),
                MigrationSet("limits", [Migration(version: 1, name: "limits", sql: PackageResources.V0001_limits_sql)]),
            ],
            personalData: [.accounts, .administration]
        ) { environment in try await AccountsParts(environment, declared()).all }
    }

    /// Whether administrators need a second factor.
    ///
    /// - Throws: `Settings.Invalid` for a word that is neither.
    static func secondFactorRule(_ settings: Settings) throws -> SecondFactorRule {
        let word = try settings.get(secondFactor)
        guard let rule = SecondFactorRule(rawValue: word) else {
            throw Settings.Invalid("\(secondFactor.argument) is required or enrolled, not “\(word)”.")
        }
        return rule
    }
}
