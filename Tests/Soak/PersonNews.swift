import BillingAPI
import Bus
import Kernel
import SocialAPI
import Wire

/// What happens to people elsewhere, emitted as the service that owns it would.
enum PersonNews: Sendable {
    /// A subscription begins.
    case premium(user: Int, until: Instant, version: Int64)
    /// A moderator suspends the person.
    case suspension(user: Int, number: Int)
    /// A circle's members are others.
    case circle(Int, version: Int64, members: [Int])

    static func id(circle: Int) -> CircleID { CircleID(high: 0x0190_0000_0000_7000, low: 0xA000_0000_0000_0000 + UInt64(circle)) }

    /// Emits it, with the rights of its service.
    func emit(id: String, at now: Instant, _ system: SoakSystem) async throws {
        switch self {
        case .premium(let user, let until, let version):
            let event = EntitlementsChanged(userID: Player.id(user), version: version, plan: .premium, expiresAt: until)
            try await system.billing.publishAll([OutgoingEvent(event, id: id, of: Player.id(user).description)])
        case .suspension(let user, let number):
            let (user, name) = (Player.id(user), UInt64(user) << 16 + UInt64(number))
            let event = ModerationActionTaken(
                actionID: ModerationActionID(high: 0x0190_0000_0000_7000, low: 0xB000_0000_0000_0000 + name),
                userID: user,
                action: .suspend,
                takenAt: now,
                until: now + .days(7),
                moderatorID: Player.id(999_999_999),
                reportID: ReportID(high: 0x0190_0000_0000_7000, low: 0xB000_0000_0000_0000 + name)
            )
            try await system.social.connection.publishAll([OutgoingEvent(event, id: id, of: user.description)])
        case .circle(let number, let version, let members):
            let circle = Self.id(circle: number)
            let state = CircleState(
                circleID: circle,
                version: version,
                name: "Circle \(number)",
                members: members.enumerated().map { index, user in
                    CircleStateMember(userID: Player.id(user), role: index == 0 ? .owner : .member, joinedAt: now)
                }
            )
            let event = CircleChanged(circleID: circle, circle: state, change: .updated)
            try await system.social.connection.publishAll([OutgoingEvent(event, id: id, of: circle.description)])
        }
    }
}

extension OutgoingEvent {
    /// An event as the outbox of its service would hand it out.
    init(_ event: some Event, id: String, of aggregate: String) throws {
        self.init(
            subject: type(of: event).subject,
            messageID: id,
            headers: ["event-id": id, "event-aggregate": aggregate, "traceparent": "", "request-id": "soak"],
            body: try event.serialized()
        )
    }
}

extension BusConnection {
    /// Publishes events and waits until they are stored.
    func publishAll(_ events: [OutgoingEvent]) async throws {
        for result in await JetStream(connection: self).publish(events, deadline: SystemClock.now() + .seconds(10)) {
            _ = try result.get()
        }
    }
}
