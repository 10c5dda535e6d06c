internal import Kernel
internal import StreaksAPI
package import StreaksDomain
package import Wire

/// The events of a change of one person's streak: the check-in and the typed ones.
package struct SoloEvents: StreakKindEvents {
    package let kind: StreakKind
    package let feature: String

    /// - Parameters:
    ///   - kind: a kind of one member.
    ///   - feature: the feature whose replicas settle it.
    package init(_ kind: StreakKind, feature: String) { (self.kind, self.feature) = (kind, feature) }

    package func events(of change: PlannedChange) throws -> [any Event] {
        guard let user = change.row.members.first ?? change.change.ledger.participants.first?.user else {
            throw ServiceError.internal
        }
        let streak = SoloStreak(id: change.row.id, user: user, kind: SoloKind(rawValue: kind.rawValue))
        if change.isStart {
            return [
                SoloStreakStarted(
                    streakID: streak.id,
                    userID: user,
                    kind: streak.kind,
                    at: change.now,
                    userLevel: Int32(change.userLevel)
                )
            ]
        }
        let maker = SoloEvent(streak, change)
        let reopened: [any Event] =
            change.row.status == .ended && change.change.state.status != .ended
            ? [SoloStreakReopened(streakID: streak.id, userID: user, kind: streak.kind, at: change.now)] : []
        return reopened
            + change.change.effects.flatMap { effect in
                [maker.event(effect)].compactMap { $0 } + maker.freezeEvents(effect)
            }
    }
}

/// Whose streak an event is about.
struct SoloStreak: Sendable {
    let id: StreakID
    let user: UserID
    let kind: SoloKind
}
