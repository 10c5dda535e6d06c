package import Kernel
internal import NotificationsDomain
package import Outbox
package import Replicas

/// The only way in which an entry of the log and its pushes come into being: in the transaction of what causes them, of an event's inbox for
/// example (NO-4, NO-5).
package struct NotificationWriter: Sendable {
    package let profiles: ProfileReplica
    package let blocks: BlockReplica
    let metrics: PushMetrics
    let log: NotificationRepository
    let live: LiveEvents

    /// An entry that was written.
    package struct Written: Sendable {
        package let id: NotificationID
        /// To how many devices it is on its way.
        package let devices: Int
    }

    /// Writes an entry and queues its pushes, unless its reader or actor has deleted the account, or a block hides the actor: an event may be
    /// consumed late (AU-7, SO-7).
    ///
    /// - Returns: nil when there is no entry.
    /// - Throws: `ServiceError` `UNAVAILABLE` when one of the two is not known here yet; the event is tried again a moment later.
    @discardableResult
    package func write(_ new: NewNotification, _ work: UnitOfWork) async throws -> Written? {
        let people = try await profiles.known([new.user] + [new.actor].compactMap { $0 }, work.sql)
        guard people.values.allSatisfy({ $0.status != .deleted }),
            try await blocks.hidden(from: new.user, among: [new.actor].compactMap { $0 }, work.sql).isEmpty,
            let reader = people[new.user]
        else { return nil }
        let id: NotificationID = work.ids.make()
        _ = try await live.changeLog(of: new.user, log, work) {
            try await NotificationRepository.insert(new, id: id, now: work.now, work.sql)
            return [
                .notification(to: new.user, id, type: new.kind.name, streak: new.streak, friendship: new.friendship)
            ]
        }
        return Written(id: id, devices: try await push(new, id, to: reader, work))
    }

    /// - Returns: to how many devices.
    private func push(_ new: NewNotification, _ id: NotificationID, to reader: Profile, _ work: UnitOfWork) async throws -> Int {
        // A suspended user signs in nowhere; the log waits.
        guard reader.isVisible, let recipient = try await RecipientRepository.find(new.user, work.sql) else { return 0 }
        let uselessAt = new.uselessAt(in: reader.zone, now: work.now)
        let decision = PushRule.decide(new.kind, recipient.preferences, in: reader.zone, at: work.now, uselessAt: uselessAt)
        guard case .send(let at) = decision else {
            if case .drop(let reason) = decision { metrics.dropped(new.kind, reason) }
            return 0
        }
        let due = min(at + PushRule.spread(new.kind, of: new.user), uselessAt)
        guard try await RecipientRepository.takePlace(new.kind, of: new.user, on: reader.zone.date(at: due), work.sql) else {
            metrics.dropped(new.kind, .limit)
            return 0
        }
        try await RecipientRepository.queue(
            id,
            of: new.user,
            to: recipient.devices,
            ids: recipient.devices.map { _ in work.ids.make() },
            at: due,
            uselessAt: uselessAt,
            now: work.now,
            work.sql
        )
        return recipient.devices.count
    }
}
