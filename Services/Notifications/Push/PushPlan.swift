internal import Kernel
internal import NotificationsCore
internal import NotificationsDomain
internal import Outbox
internal import Replicas

/// A push that is handed over.
struct Push: Sendable {
    var delivery: ClaimedDelivery
    let kind: NotificationKind
    let message: ExpoMessage
    /// How often in a row the provider has said that the device gets too many.
    let slowed: Int
}

/// What is done with pushes that are due: handed over, put off, or dropped. Decided anew when they leave, because much may have changed since
/// they were queued (`PushRule`).
struct PushPlan: Sendable {
    private(set) var pushes: [Push] = []
    /// Of pushes that are not handed over now.
    private(set) var results: [DeliveryResult] = []
    private(set) var drops: [Drop] = []
    /// Handed over twice without an answer.
    private(set) var unanswered = 0

    struct Drop: Sendable {
        let kind: NotificationKind
        let reason: DropReason
    }

    init(_ due: [ClaimedDelivery], core: NotificationsCore, isOn: Bool, _ work: UnitOfWork) async throws {
        let facts = try await PushFacts(due, core: core, work)
        for delivery in due { add(delivery, facts, isOn: isOn, link: core.link) }
    }

    private mutating func add(_ delivery: ClaimedDelivery, _ facts: PushFacts, isOn: Bool, link: (String) -> String) {
        guard let entry = facts.entries[delivery.entry]?.read(at: facts.now) else { return drop(delivery, nil, .gone) }
        guard isOn else { return drop(delivery, entry.kind, .off) }
        guard let device = facts.device(of: delivery), let reader = facts.reader(of: delivery, entry) else {
            return drop(delivery, entry.kind, .gone)
        }
        guard entry.readAt == nil || entry.kind.isConfirmation(entry.values.wording) else {
            return drop(delivery, entry.kind, .read)
        }
        // A break that was undone while its push waited.
        guard !entry.isUndone else { return drop(delivery, entry.kind, .useless) }
        guard !entry.isSaidByFriends else { return drop(delivery, entry.kind, .said) }
        let decision = PushRule.decide(
            entry.kind,
            wording: entry.values.wording,
            facts.preferences[delivery.user]?.preferences ?? PushPreferences(),
            in: reader.zone,
            at: facts.now,
            uselessAt: delivery.uselessAt
        )
        switch decision {
        case .drop(let reason): return drop(delivery, entry.kind, reason)
        case .send(let at):
            let due = max(at, device.pausedUntil ?? at)
            guard due < delivery.uselessAt else { return drop(delivery, entry.kind, .useless) }
            if due > facts.now {
                results.append(DeliveryResult(delivery, dueAt: due, isAnswered: false))
                return
            }
        }
        var delivery = delivery
        guard delivery.life.handOver() else {
            unanswered += 1
            results.append(DeliveryResult(delivery, dueAt: nil, isAnswered: false, reason: "NoAnswer"))
            return
        }
        let message = ExpoMessage(
            entry,
            to: device,
            name: entry.actor.flatMap { facts.people[$0]?.shownName },
            unread: facts.unread[delivery.user] ?? 0,
            link: link(entry.linkPath),
            uselessAt: delivery.uselessAt,
            now: facts.now
        )
        pushes.append(Push(delivery: delivery, kind: entry.kind, message: message, slowed: device.slowed))
    }

    /// Leaves pushes on their last hand-over for later: all of them while there are others, else all but one.
    mutating func spareLastChances() {
        let isLast = { (push: Push) in push.delivery.life.unanswered >= DeliveryLife.mostUnanswered }
        let others = pushes.filter { !isLast($0) }
        pushes = others.isEmpty ? Array(pushes.prefix(1)) : others
    }

    private mutating func drop(_ delivery: ClaimedDelivery, _ kind: NotificationKind?, _ reason: DropReason) {
        var delivery = delivery
        delivery.life.expire()
        results.append(DeliveryResult(delivery, dueAt: nil, isAnswered: false, reason: reason.rawValue))
        if let kind { drops.append(Drop(kind: kind, reason: reason)) }
    }
}

/// What is known now of the entries, devices and users of pushes, from one statement a table.
private struct PushFacts: Sendable {
    let now: Instant
    let entries: [NotificationID: StoredNotification]
    let devices: [DeviceID: DeviceAddress]
    let people: [UserID: Profile]
    let preferences: [UserID: PreferencesRepository.Stored]
    let unread: [UserID: Int32]
    private let hidden: Set<RecipientRepository.Pair>

    init(_ due: [ClaimedDelivery], core: NotificationsCore, _ work: UnitOfWork) async throws {
        let readers = Array(Set(due.map(\.user)))
        now = work.now
        entries = try await NotificationRepository.entries(due.map(\.entry), work.sql)
        devices = try await DeviceRepository.addresses(due.map(\.device), work.sql)
        // The log has only entries of users who are known here.
        people = try await core.writer.profiles.known(Set(readers + entries.values.compactMap(\.actor)), work.sql)
        preferences = try await PreferencesRepository.find(readers, work.sql)
        unread = try await NotificationRepository.unreadCounts(of: readers, work.sql)
        let pairs = entries.values.compactMap { entry in
            entry.actor.map { RecipientRepository.Pair(reader: entry.user, actor: $0) }
        }
        hidden = try await RecipientRepository.hidden(Set(pairs), work.sql)
    }

    /// nil: gone, or it has another owner.
    func device(of delivery: ClaimedDelivery) -> DeviceAddress? {
        devices[delivery.device].flatMap { $0.user == delivery.user ? $0 : nil }
    }

    /// nil: the reader's account or that of the actor is gone, or a block hides the actor.
    func reader(of delivery: ClaimedDelivery, _ entry: StoredNotification) -> Profile? {
        guard let reader = people[delivery.user], reader.isVisible else { return nil }
        guard let actor = entry.actor else { return reader }
        let pair = RecipientRepository.Pair(reader: entry.user, actor: actor)
        return people[actor]?.status != .deleted && !hidden.contains(pair) ? reader : nil
    }
}
