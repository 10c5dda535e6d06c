import StreakSnapClient

/// A service of a world.
public enum TestService: String, Sendable, CaseIterable {
    /// Accounts, sessions, profiles.
    case auth
    /// Friends, blocks, reports, circles.
    case social
    /// Streaks, check-ins, habits, rewards.
    case streaks
    /// Photos, feed, posts, cards.
    case media
    /// The log, pushes, mails.
    case notifications
    /// Subscriptions, wallet, store.
    case billing
}

/// How Expo's push service answers.
public struct ExpoBehaviour: Sendable, Hashable {
    /// The status of its replies: 200, 4xx or 5xx.
    public var status: Int
    /// Errors in tickets, at once, by push token: `["ExponentPushToken[a]": "DeviceNotRegistered"]`.
    public var tickets: [String: String]
    /// Errors in receipts, later, by push token.
    public var receipts: [String: String]

    /// Without arguments it takes everything.
    public init(status: Int = 200, tickets: [String: String] = [:], receipts: [String: String] = [:]) {
        (self.status, self.tickets, self.receipts) = (status, tickets, receipts)
    }
}

/// How the mail server answers.
public enum MailServerBehaviour: String, Sendable {
    /// It takes mails.
    case takes = "no"
    /// It answers 451: try later.
    case refusesTemporarily = "temporarily"
    /// It answers 550: never.
    case refusesPermanently = "permanently"
}

/// Faults last until they are ended, at the latest until the world ends.
extension TestWorld {
    /// A service goes away: calls of it get `UNAVAILABLE`.
    public func stop(_ service: TestService) async throws { try await call("POST", "/services/\(service.rawValue)/stop") }

    /// A service comes back. It answers when this returns.
    public func start(_ service: TestService) async throws { try await call("POST", "/services/\(service.rawValue)/start") }

    /// Every round trip to the database takes so much longer, 0 to 10 s; 0 ends the fault.
    public func slowDatabase(by delay: Duration) async throws {
        let delay = Int((delay.inSeconds * 1_000).rounded())
        try await call("PUT", "/database", body: ["delay_ms": .whole(Int64(delay))])
    }

    /// The database goes away: connections end, and new ones are refused.
    public func stopDatabase() async throws { try await call("PUT", "/database", body: ["away": .flag(true)]) }

    /// The database is there and fast.
    public func startDatabase() async throws { try await call("PUT", "/database", body: [:]) }

    /// Changes how Expo's push service answers.
    public func setExpo(_ behaviour: ExpoBehaviour) async throws {
        let body: [String: JSONValue] = [
            "status": .whole(Int64(behaviour.status)), "tickets": .object(behaviour.tickets.mapValues { .text($0) }),
            "receipts": .object(behaviour.receipts.mapValues { .text($0) }),
        ]
        try await call("PUT", "/expo", body: body)
    }

    /// Changes how the mail server answers.
    public func setMailServer(_ behaviour: MailServerBehaviour) async throws {
        try await call("PUT", "/mail", body: ["refuses": .text(behaviour.rawValue)])
    }
}
