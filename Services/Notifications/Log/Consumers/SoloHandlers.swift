internal import Kernel
internal import NotificationsCore
internal import NotificationsDomain
internal import Outbox
internal import StreaksAPI

/// Notifications about streaks of the reader's own (CI-2 … CI-5, TS-3): at once what happened, by the clock what may.
extension NotificationHandlers {
    var soloHandlers: [EventHandler] {
        [
            EventHandler(FreezeUsed.self, in: batch) { event, now in
                let isLast = event.freezesLeft == 0
                let new = NewNotification(
                    user: event.userID,
                    kind: isLast ? .lastFreeze : .freezeUsed,
                    values: NotificationValues(
                        wording: isLast ? Wording.noFreezeLeft : 0,
                        count: event.count,
                        amount: event.freezesLeft,
                        subject: event.kind.name
                    ),
                    // By these it is found when the freeze comes back.
                    streak: event.streakID,
                    date: event.date
                )
                return [NotificationDraft(new)]
            },
            EventHandler(SoloMilestoneReached.self, in: batch) { event, now in
                // Each once a person (CI-5).
                guard event.firstTime else { return [] }
                let values = NotificationValues(wording: Wording.solo, count: event.count, subject: event.kind.name)
                return [Self.draft(event.userID, .milestone, values, event.streakID)]
            },
            EventHandler(SoloStreakBroken.self, in: batch) { event, now in
                guard let until = event.repairableUntil, until > now else {
                    let values = NotificationValues(wording: Wording.solo, count: event.count, subject: event.kind.name)
                    return [Self.draft(event.userID, .streakBroken, values, event.streakID)]
                }
                let hours = NotificationKind.hours(until: until, now)
                let values = NotificationValues(count: event.count, amount: hours, subject: event.kind.name)
                return [Self.draft(event.userID, .repairOffer, values, event.streakID, deadline: until, useful: .until(until))]
            },
            EventHandler(ProtectionUsed.self, in: batch) { event, now in
                let wording = event.protection == .shield ? Wording.soloShielded : Wording.soloProtected
                let values = NotificationValues(wording: wording, count: event.count, subject: event.kind.name)
                return [Self.draft(event.userID, .streakRecovered, values, event.streakID)]
            },
            EventHandler(SoloStreakRestored.self, in: batch) { event, now in
                let values = NotificationValues(wording: Wording.solo, count: event.count, subject: event.kind.name)
                return [Self.draft(event.userID, .streakRecovered, values, event.streakID)]
            },
        ]
    }

    var soloReminderHandlers: [EventHandler] {
        [
            EventHandler(SoloStreaksAtRisk.self, in: batch) { event, now in
                guard let end = event.dayEndsAt, now < end, let first = event.streaks.first else { return [] }
                let values = NotificationValues(
                    wording: Wording.solo,
                    count: first.currentCount,
                    others: Int32(clamping: event.streaks.count - 1),
                    amount: NotificationKind.hours(until: end, now),
                    subject: first.kind
                )
                let streak = event.streaks.count == 1 ? first.streakID : nil
                return [Self.draft(event.userID, .streakAtRisk, values, streak, deadline: end, useful: .until(end))]
            },
            EventHandler(StreakReminderDue.self, in: batch) { event, now in
                guard let end = event.usefulUntil, now < end, let (kind, values) = Self.reminder(event, at: now) else {
                    return []
                }
                let deadline = kind == .repairOffer ? event.repairableUntil : nil
                // An offer that has expired is not sent.
                let useful = NewNotification.Usefulness.until(min(end, deadline ?? end))
                return [Self.draft(event.userID, kind, values, event.streakID, deadline: deadline, useful: useful)]
            },
        ]
    }

    /// What a reminder says; nil for a kind that this build does not know.
    private static func reminder(_ event: StreakReminderDue, at now: Instant) -> (NotificationKind, NotificationValues)? {
        let count = event.currentCount
        func of(_ wording: Int16, _ amount: Int32 = 0) -> (NotificationKind, NotificationValues) {
            (.streakReminder, NotificationValues(wording: wording, count: count, amount: amount))
        }
        switch event.kind {
        case .morning: return of(Wording.checkInMorning)
        case .afternoon: return of(Wording.checkInAfternoon)
        case .evening: return of(Wording.checkInEvening)
        case .freezeAhead:
            guard event.freezesLeft == 1 else { return of(Wording.freezeAhead, event.freezesLeft) }
            return (.lastFreeze, NotificationValues(wording: Wording.lastFreezeAhead, count: count, amount: 1))
        case .shieldAhead: return of(Wording.shieldAhead)
        case .milestoneInTwoDays: return of(Wording.milestoneInTwoDays, event.milestone)
        case .milestoneTomorrow: return of(Wording.milestoneTomorrow, event.milestone)
        case .milestoneToday: return of(Wording.milestoneToday, event.milestone)
        case .firstDayAfterBreak:
            guard let until = event.repairableUntil, until > now else { return of(Wording.firstDayAfterBreak) }
            return (.repairOffer, NotificationValues(count: count, amount: NotificationKind.hours(until: until, now)))
        case .secondDayAfterBreak: return of(Wording.secondDayAfterBreak, event.longestCount)
        case .seventhDayAfterBreak: return of(Wording.seventhDayAfterBreak, event.longestCount)
        case .pauseEnded: return (.pauseEnded, NotificationValues(count: count))
        default: return nil
        }
    }

    private static func draft(
        _ user: UserID,
        _ kind: NotificationKind,
        _ values: NotificationValues,
        _ streak: StreakID?,
        deadline: Instant? = nil,
        useful: NewNotification.Usefulness = .asItsKind
    ) -> NotificationDraft {
        NotificationDraft(
            NewNotification(user: user, kind: kind, values: values, streak: streak, deadline: deadline, useful: useful)
        )
    }
}

/// A freeze that comes back (SD-6): what said that it was used is read, so that what of it waits is not pushed, and another entry says that it is
/// back. That one is pushed only if the use was: who had no push of the one needs none of the other.
struct ReturnedFreezes: Sendable {
    let core: NotificationsCore

    var handler: EventHandler {
        EventHandler(FreezeReturned.self) { [core] event, work in
            let user = event.userID
            let uses = try await NotificationRepository.freezeUses(of: user, event.streakID, on: event.date, work.sql)
            let unread = uses.filter(\.isUnread).map(\.id)
            if !unread.isEmpty {
                _ = try await core.live.markRead(unread, of: user, areOpened: false, core.log, work)
            }
            let new = NewNotification(
                user: user,
                kind: .freezeReturned,
                values: NotificationValues(amount: event.freezesLeft, subject: event.kind.name),
                streak: event.streakID,
                date: event.date,
                // Of several uses of the date, the last one is the one that is undone.
                useful: uses.first?.isPushed == true ? .asItsKind : .inLogOnly
            )
            try await core.writer.write(new, work)
        }
    }
}
