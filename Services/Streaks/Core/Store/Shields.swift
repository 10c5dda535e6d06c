package import Kernel
package import Outbox
internal import Runtime
internal import StreaksDomain

/// When a shield that was bought begins to protect the check-in streak (TS-3): `streaks.bought-shield`.
package enum BoughtShield: String, SettingValue, CustomStringConvertible {
    /// From its purchase on, as if its owner had used it then. Before the first check-in there is nothing to protect: it stays in hand, and
    /// the next check-in arms it. Several are all armed, and each covers one break.
    case armed
    /// Once its owner has used it.
    case afterUse = "after-use"

    package init?(settingText text: String) { self.init(rawValue: text) }
    package static var settingTypeName: String { "armed or after-use" }
    package var description: String { rawValue }

    static let setting = Setting(
        "streaks.bought-shield",
        default: BoughtShield.armed,
        help: """
            When a bought shield begins to protect its owner's check-in streak: armed at its purchase, after-use only once its owner has \
            used it.
            """
    )
}

extension StreakWriter {
    /// Shields protect a user's check-in streak, as if they had been used at an instant: what was missed since then is kept (SD-6).
    ///
    /// - Parameter instant: at most `StreakPolicy.finality` ago; an earlier one is taken as that.
    /// - Returns: false when the user has no check-in streak: then nothing has changed, and none begins before this transaction ends.
    package func arm(shields count: Int, of user: UserID, at instant: Instant, _ work: UnitOfWork) async throws -> Bool {
        let since = max(instant, work.now - policy(for: .checkIn).finality)
        if try await lockedSolo(.checkIn, of: user, work) == nil { try await lockBeginning(.checkIn, of: user, work) }
        for _ in 0..<count {
            guard let streak = try await lockedSolo(.checkIn, of: user, work) else { return false }
            let command = StreakCommand.protect(.shield, until: nil, id: work.ids.make(), receivedAt: since)
            try await apply(command, to: streak, work)
        }
        return true
    }
}
