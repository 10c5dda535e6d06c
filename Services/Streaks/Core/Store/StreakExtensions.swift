package import Kernel
package import Outbox
package import StreaksDomain
package import Wire

/// What the feature of a kind adds to its streaks (D15): the events of a change.
package protocol StreakKindEvents: Sendable {
    /// The kind it speaks for.
    var kind: StreakKind { get }
    /// The feature that has it: streaks of a kind are settled by replicas that run its feature.
    var feature: String { get }
    /// The events of a change, in the order it happened. A start has no effects.
    func events(of change: PlannedChange) throws -> [any Event]
}

/// What a feature does in the transaction that changes streaks, whatever their kind: totals, reminders.
package protocol StreakFollower: Sendable {
    /// Follows changes that have been written, each streak once.
    ///
    /// - Parameter urgency: whether what can wait is done now.
    func follow(_ changes: [PlannedChange], _ urgency: Urgency, _ work: UnitOfWork) async throws
    /// A user's clock or window hour may be another (SD-3, PW-2); their streaks have been settled by it.
    func clockChanged(of user: UserID, _ work: UnitOfWork) async throws
}

extension StreakFollower {
    package func clockChanged(of _: UserID, _: UnitOfWork) async throws {}
}

/// When what a change entails for totals is done.
package enum Urgency: Sendable {
    /// In this transaction.
    case now
    /// By a job, when no streak waits to be settled any more: breaks are emitted first.
    case soon
}

/// What features add to the store. The list of features of the service puts it together; it is the same in every replica, whichever
/// features it runs.
package struct StreakExtensions: Sendable {
    package let policies: StreakPolicies
    private let kinds: [StreakKind: any StreakKindEvents]
    let followers: [any StreakFollower]
    let circleFollowers: [any CircleFollower]

    package init(
        policies: StreakPolicies = .standard,
        kinds: [any StreakKindEvents],
        followers: [any StreakFollower],
        circles: [any CircleFollower] = []
    ) {
        self.policies = policies
        circleFollowers = circles
        self.kinds = Dictionary(kinds.map { ($0.kind, $0) }) { first, _ in first }
        self.followers = followers
    }

    func events(of change: PlannedChange) throws -> [any Event] { try kinds[change.row.kind]?.events(of: change) ?? [] }

    /// The kinds whose feature is among these.
    func kinds(of features: Set<String>) -> [StreakKind] {
        kinds.values.filter { features.contains($0.feature) }.map(\.kind).sorted { $0.rawValue < $1.rawValue }
    }
}
