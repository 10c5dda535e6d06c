import AuthService
import BillingService
import MediaService
import NotificationsService
import Runtime
import ServiceRuntime
import SocialService
import StreaksService

/// One setting `quotas` for all services. Each gets what it says of its own tables, since it refuses all others.
struct QuotaParts: Sendable {
    private static let names: [String: Set<String>] = [
        AuthModule.name: AuthModule.quotaNames, SocialModule.name: SocialModule.quotaNames,
        StreaksModule.name: StreaksModule.quotaNames, MediaModule.name: MediaModule.quotaNames,
        NotificationsModule.name: NotificationsModule.quotaNames, BillingModule.name: BillingModule.quotaNames,
    ]

    private let limits: QuotaLimits

    /// - Throws: `Settings.Invalid`, also for a quota that no service has.
    init(_ text: String) throws(Settings.Invalid) {
        limits = try QuotaLimits(text)
        try limits.check(Self.names.values.reduce(into: []) { $0.formUnion($1) })
    }

    /// The setting of a service; empty for what is none.
    func text(of service: String) -> String { limits.text(of: Self.names[service] ?? []) }
}
