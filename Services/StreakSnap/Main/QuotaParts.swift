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
    private static let tables: [String: Set<String>] = [
        AuthModule.name: AuthModule.quotaTables, SocialModule.name: SocialModule.quotaTables,
        StreaksModule.name: StreaksModule.quotaTables, MediaModule.name: MediaModule.quotaTables,
        NotificationsModule.name: NotificationsModule.quotaTables, BillingModule.name: BillingModule.quotaTables,
    ]

    private let limits: QuotaLimits

    /// - Throws: `Settings.Invalid`, also for a table that is no service's.
    init(_ text: String) throws(Settings.Invalid) {
        limits = try QuotaLimits(text)
        try limits.check(Self.tables.values.reduce(into: []) { $0.formUnion($1) })
    }

    /// The setting of a service; empty for what is none.
    func text(of service: String) -> String { limits.text(of: Self.tables[service] ?? []) }
}
