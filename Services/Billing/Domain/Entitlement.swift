public import Kernel

/// What all subscriptions of a user come to at an instant: premium when any of them gives it (BI-2).
public struct Entitlement: Hashable, Sendable {
    /// The one to show: of those that give premium the one that lasts longest, or else the one that ended last; nil when there is none.
    public let shown: SubscriptionState?
    /// Whether one gives premium.
    public let isPremium: Bool
    /// When premium ends or has ended; nil: without end, or never had.
    public let accessUntil: Instant?
    /// The place of the longest-lasting one that counts for the monthly bonus, among those that were given.
    public let bonusIndex: Int?

    /// - Parameter subscriptions: of one user, in any order. Those that give something else than premium do not count.
    public init(_ subscriptions: [SubscriptionState], at now: Instant) {
        let ofPremium = subscriptions.filter(\.givesPremium)
        let granting = ofPremium.filter { $0.grants(at: now) }
        shown = (granting.isEmpty ? ofPremium : granting).max(by: Self.isShorter)
        isPremium = !granting.isEmpty
        accessUntil = shown?.accessUntil
        bonusIndex = subscriptions.indices.filter { subscriptions[$0].grants(at: now) && subscriptions[$0].earnsBonus }
            .max { Self.isShorter(subscriptions[$0], subscriptions[$1]) }
    }

    private static func isShorter(_ left: SubscriptionState, _ right: SubscriptionState) -> Bool {
        let (first, second) = (left.accessUntil ?? .endless, right.accessUntil ?? .endless)
        return (first.microseconds, left.product, left.store) < (second.microseconds, right.product, right.store)
    }
}

/// Where a subscription is changed or cancelled.
public enum ManageLink {
    /// The store's own page; nil for stores without one that all users share.
    public static func url(ofStore store: String) -> String? {
        switch store {
        case "APP_STORE": "https://apps.apple.com/account/subscriptions"
        case "MAC_APP_STORE": "https://apps.apple.com/account/subscriptions"
        case "PLAY_STORE": "https://play.google.com/store/account/subscriptions"
        case "AMAZON": "https://www.amazon.com/appstore/subscriptions"
        default: nil
        }
    }
}

/// When the store is asked about a subscription that should be renewed: its event may never come.
public enum AskSchedule {
    /// Around the end of what is paid.
    private static let offsets: [Interval] = [.minutes(-30), .minutes(-1), .minutes(5), .hours(1), .hours(24)]

    /// The next time; nil when it has been asked often enough.
    ///
    /// - Parameters:
    ///   - end: when access ends unless it is renewed.
    ///   - now: the last time it was asked, or when it became known.
    public static func next(end: Instant, after now: Instant) -> Instant? {
        offsets.lazy.map { end + $0 }.first { $0 > now }
    }

    /// When to try again after a failure, counted from 1: 10 s, doubled each time, at most an hour.
    public static func retry(_ attempt: Int, after now: Instant) -> Instant {
        now + .seconds(min(3_600, 10 << Int64(min(10, max(0, attempt - 1)))))
    }
}

extension Instant {
    /// Later than every end.
    fileprivate static let endless = Instant(microseconds: .max)
}
