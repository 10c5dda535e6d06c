package import Kernel
internal import NotificationsDomain
package import Outbox
package import Replicas

/// The only way in which entries of the log and their pushes come into being: in the transaction of what causes them, of an event's inbox for
/// example (NO-4, NO-5).
///
/// However many there are, they cost the same few statements: who is concerned is read for all of them at once, and what they come to is
/// written at once. Many at once give what each gives alone, one after the other.
package struct NotificationWriter: Sendable {
    package let profiles: ProfileReplica
    package let blocks: BlockReplica
    let metrics: PushMetrics
    let log: NotificationRepository
    let live: LiveEvents
    /// Over how many seconds reminders of one instant are spread.
    let spread: Int

    /// An entry that was written.
    package struct Written: Sendable {
        package let id: NotificationID
        /// To how many devices it is on its way.
        package let devices: Int
    }

    /// Writes one entry, as `write(_:_:)` of several does.
    ///
    /// - Returns: nil when there is no entry.
    @discardableResult
    package func write(_ new: NewNotification, _ work: UnitOfWork) async throws -> Written? {
        try await write([NotificationDraft(new)], work).first.flatMap { $0 }
    }

    /// Writes entries and queues their pushes, except those whose reader or actor has deleted the account, or of whom a block hides the actor:
    /// an event may be consumed late (AU-7, SO-7).
    ///
    /// The logs of the readers are locked in the order of their ids, once: a transaction that calls it more than once must keep that order.
    ///
    /// - Returns: for each draft what was written; nil when there is no entry.
    /// - Throws: `ServiceError` `UNAVAILABLE` when one whom they are about is not known here yet; the events are tried again a moment later.
    @discardableResult
    package func write(_ drafts: [NotificationDraft], _ work: UnitOfWork) async throws -> [Written?] {
        let entries = try await entries(drafts, work)
        guard !entries.isEmpty else { return drafts.map { _ in nil } }
        let readers = Dictionary(grouping: entries, by: \.new.user)
        // Two for each entry: that it is there, and how many are unread then.
        try await live.changeLogs(readers.mapValues { 2 * $0.count }, work) {
            try await NotificationRepository.insert(entries.map(\.new), ids: entries.map(\.id), now: work.now, work.sql)
            let unread = try await NotificationRepository.unreadCounts(of: Array(readers.keys), work.sql)
            return Self.events(entries, readers, unread: unread)
        }
        let devices = try await push(entries, work)
        var written = [Written?](repeating: nil, count: drafts.count)
        for entry in entries { written[entry.place] = Written(id: entry.id, devices: devices[entry.id] ?? 0) }
        return written
    }

    /// The entries that there are.
    private func entries(_ drafts: [NotificationDraft], _ work: UnitOfWork) async throws -> [NewEntry] {
        let people = try await profiles.knownHere(Set(drafts.flatMap { [$0.user] + $0.others }), work.sql)
        let pairs = drafts.flatMap { draft in draft.others.map { RecipientRepository.Pair(reader: draft.user, actor: $0) } }
        let hidden = try await RecipientRepository.hidden(Set(pairs), work.sql)
        var entries: [NewEntry] = []
        for (place, draft) in drafts.enumerated() {
            var present: Set<UserID> = []
            for other in draft.others {
                guard let profile = people[other] else { throw Self.unknown }
                let isHidden = hidden.contains(RecipientRepository.Pair(reader: draft.user, actor: other))
                if profile.status != .deleted, !isHidden { present.insert(other) }
            }
            guard let new = draft.entry(present) else { continue }
            guard let reader = people[new.user] else { throw Self.unknown }
            guard reader.status != .deleted, new.actor.map(present.contains) ?? true else { continue }
            entries.append(NewEntry(place: place, id: work.ids.make(), new: new, reader: reader))
        }
        return entries
    }

    private static var unknown: ServiceError { .unavailable("A profile is not known yet.") }

    /// What open apps are sent: after each entry, how many are unread with it.
    private static func events(_ entries: [NewEntry], _ readers: [UserID: [NewEntry]], unread: [UserID: Int32]) -> [LiveEvent] {
        var later = readers.mapValues { entries in Int32(clamping: entries.count { !$0.new.isRead }) }
        return entries.flatMap { entry -> [LiveEvent] in
            let new = entry.new
            if !new.isRead { later[new.user, default: 0] -= 1 }
            let count = (unread[new.user] ?? 0) - (later[new.user] ?? 0)
            return [
                .notification(to: new.user, entry.id, type: new.kind.name, streak: new.streak, friendship: new.friendship),
                .unreadCount(of: new.user, count),
            ]
        }
    }

    /// - Returns: to how many devices each entry is on its way; those that are on none are absent.
    private func push(_ entries: [NewEntry], _ work: UnitOfWork) async throws -> [NotificationID: Int] {
        // A suspended user signs in nowhere; the log waits.
        let readers = entries.filter(\.reader.isVisible).map(\.new.user)
        guard !readers.isEmpty else { return [:] }
        let recipients = try await RecipientRepository.find(readers, work.sql)
        var planned = PlannedPushes(now: work.now, spread: spread)
        for entry in entries where entry.reader.isVisible {
            guard let recipient = recipients[entry.new.user] else { continue }
            if let reason = planned.add(entry, recipient) { metrics.dropped(entry.new.kind, reason) }
        }
        let before = try await RecipientRepository.places(planned.days, work.sql)
        var places = before
        var pushes: [NewDelivery] = []
        var devices: [NotificationID: Int] = [:]
        for push in planned.pushes {
            if let day = push.day, !places[day, default: DayPlaces()].take(for: push.entry.new.kind) {
                metrics.dropped(push.entry.new.kind, .limit)
                continue
            }
            devices[push.entry.id] = push.devices.count
            pushes += push.devices.map { push.delivery(work.ids.make(), to: $0) }
        }
        try await RecipientRepository.store(places.filter { before[$0.key] != $0.value }, work.sql)
        try await RecipientRepository.queue(pushes, now: work.now, work.sql)
        return devices
    }
}

/// An entry with its reader.
struct NewEntry: Sendable {
    /// Of its draft.
    let place: Int
    let id: NotificationID
    let new: NewNotification
    let reader: Profile
}

/// Pushes of entries that leave if there is a place for them on the reader's date.
private struct PlannedPushes {
    struct Planned {
        let entry: NewEntry
        let devices: [DeviceID]
        let dueAt: Instant
        let uselessAt: Instant
        /// Of which it takes a place; nil: it is beside them.
        let day: PushDay?

        func delivery(_ id: DeliveryID, to device: DeviceID) -> NewDelivery {
            NewDelivery(id: id, entry: entry.id, device: device, user: entry.new.user, dueAt: dueAt, uselessAt: uselessAt)
        }
    }

    /// What a decision depends on: for most readers of an event it is the same, and the end of quiet hours takes long to find.
    private struct Case: Hashable {
        let kind: NotificationKind
        let wording: Int16
        let preferences: PushPreferences
        let zone: Zone
        let uselessAt: Instant
    }

    let now: Instant
    let spread: Int
    private(set) var pushes: [Planned] = []
    private var decisions: [Case: PushRule.Decision] = [:]

    init(now: Instant, spread: Int) { (self.now, self.spread) = (now, spread) }

    var days: Set<PushDay> { Set(pushes.compactMap(\.day)) }

    /// - Returns: why there is none; nil when there is.
    mutating func add(_ entry: NewEntry, _ recipient: Recipient) -> DropReason? {
        let (new, zone) = (entry.new, entry.reader.zone)
        if let other = new.saidBy, recipient.preferences.allow(other) { return .said }
        let uselessAt = new.uselessAt(in: zone, now: now)
        let (wording, preferences) = (new.values.wording, recipient.preferences)
        let key = Case(kind: new.kind, wording: wording, preferences: preferences, zone: zone, uselessAt: uselessAt)
        let decision =
            decisions[key]
            ?? PushRule.decide(new.kind, wording: wording, preferences, in: zone, at: now, uselessAt: uselessAt)
        decisions[key] = decision
        switch decision {
        case .drop(let reason): return reason
        case .send(let at):
            let due = min(at + PushRule.spread(new.kind, of: new.user, over: spread), uselessAt)
            // What is about daily snaps may not leave in the end, and takes no other push's place.
            let isSnap = new.values.wording == Wording.solo && new.values.subject == "daily_snap"
            let day = new.kind.isUncounted || isSnap ? nil : PushDay(user: new.user, date: zone.date(at: due))
            pushes.append(
                Planned(entry: entry, devices: recipient.devices, dueAt: due, uselessAt: uselessAt, day: day)
            )
            return nil
        }
    }
}
