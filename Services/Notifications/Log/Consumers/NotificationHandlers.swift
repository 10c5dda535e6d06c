internal import AuthAPI
internal import BillingAPI
internal import Kernel
internal import NotificationsCore
internal import NotificationsDomain
internal import Outbox
internal import SocialAPI
internal import StreaksAPI

/// Turns the events of other services into entries of the log and pushes (NO-1). The inbox makes each event notify once (NO-5).
///
/// All kinds share one batch: a flood of events, as of a midnight at which many streaks break, costs few statements.
struct NotificationHandlers: Sendable {
    let batch: EventBatch<NotificationDraft>

    init(writer: NotificationWriter) {
        batch = EventBatch { drafts, work in try await writer.write(drafts, work) }
    }

    var friendshipHandlers: [EventHandler] {
        [
            EventHandler(FriendRequestSent.self, in: batch) { event, _ in
                [
                    NotificationDraft(
                        NewNotification(
                            user: event.toUserID,
                            kind: .friendRequest,
                            actor: event.fromUserID,
                            friendship: event.friendshipID
                        )
                    )
                ]
            },
            EventHandler(FriendshipAccepted.self, in: batch) { event, _ in
                [
                    NotificationDraft(
                        NewNotification(
                            user: event.requesterID,
                            kind: .friendAccepted,
                            actor: event.accepterID,
                            friendship: event.friendshipID
                        )
                    )
                ]
            },
            EventHandler(FriendNudged.self, in: batch) { event, _ in
                [
                    NotificationDraft(
                        NewNotification(
                            user: event.toUserID,
                            kind: .nudge,
                            actor: event.fromUserID,
                            streak: event.streakID,
                            friendship: event.friendshipID,
                            useful: .today
                        )
                    )
                ]
            },
        ]
    }

    var streakHandlers: [EventHandler] { runHandlers + breakHandlers }

    private var runHandlers: [EventHandler] {
        [
            EventHandler(SnapCounted.self, in: batch) { event, _ in
                [
                    NotificationDraft(
                        NewNotification(
                            user: event.friendID,
                            kind: .friendPosted,
                            values: NotificationValues(
                                wording: event.dateCompleted ? Wording.dateCompleted : 0,
                                count: event.currentCount
                            ),
                            actor: event.userID,
                            streak: event.streakID,
                            useful: .through(event.date),
                            saidBy: event.celebrated ? .milestone : nil
                        )
                    )
                ]
            },
            EventHandler(MilestoneReached.self, in: batch) { event, _ in
                let values = NotificationValues(wording: event.earnsToken ? Wording.earnsToken : 0, count: event.count)
                return Self.both(event.userAID, event.userBID, .milestone, streak: event.streakID) { _ in values }
            },
            EventHandler(RecoveryTokenEarned.self, in: batch) { event, _ in
                guard event.unannounced else { return [] }
                let values = NotificationValues(wording: Wording.tokenOnly, count: event.count)
                return Self.both(event.userAID, event.userBID, .milestone, streak: event.streakID) { _ in values }
            },
        ]
    }

    private var breakHandlers: [EventHandler] {
        [
            EventHandler(StreakBroken.self, in: batch) { event, _ in
                let isFinal = event.isFinal || event.unrecoverable
                let values = NotificationValues(wording: isFinal ? Wording.isFinal : 0, count: event.count)
                return Self.both(
                    event.userAID,
                    event.userBID,
                    .streakBroken,
                    streak: event.streakID,
                    deadline: event.recoverableUntil
                ) { _ in values }
            },
            // Names no user: so it is right also when the account is restored, and says nothing that the deletion hides (AU-7).
            EventHandler(StreakEnded.self, in: batch) { event, _ in
                guard let deleted = event.deletedUserID, event.count > 0 else { return [] }
                let new = NewNotification(
                    user: deleted == event.userAID ? event.userBID : event.userAID,
                    kind: .streakBroken,
                    values: NotificationValues(wording: Wording.accountDeleted, count: event.count),
                    streak: event.streakID
                )
                return [NotificationDraft(new)]
            },
            EventHandler(StreakRestored.self, in: batch) { event, _ in
                let values = NotificationValues(count: event.count)
                return Self.both(event.userAID, event.userBID, .streakRecovered, streak: event.streakID) { _ in values }
            },
            EventHandler(StreakRecovered.self, in: batch) { event, _ in
                Self.both(event.userAID, event.userBID, .streakRecovered, streak: event.streakID) { reader in
                    let wording =
                        switch (reader == event.recoveredByUserID, event.inAdvance) {
                        case (true, false): Wording.byReader
                        case (true, true): Wording.byReaderInAdvance
                        case (false, false): Wording.byFriend
                        case (false, true): Wording.byFriendInAdvance
                        }
                    return NotificationValues(wording: wording, count: event.count)
                }
            },
        ]
    }

    var accountHandlers: [EventHandler] {
        [
            // The entries do not name the moderator, nor the other of the two users.
            EventHandler(ModerationActionTaken.self, in: batch) { event, _ in
                var drafts: [NotificationDraft] = []
                if event.action == .warn {
                    drafts.append(NotificationDraft(NewNotification(user: event.userID, kind: .moderationWarning)))
                }
                if event.action == .remove {
                    let values = NotificationValues(wording: Wording.postRemoved)
                    drafts.append(
                        NotificationDraft(NewNotification(user: event.userID, kind: .moderationWarning, values: values))
                    )
                }
                if event.restored {
                    let values = NotificationValues(wording: Wording.postRestored)
                    drafts.append(NotificationDraft(NewNotification(user: event.userID, kind: .reportUpdate, values: values)))
                }
                for reporter in (event.reporterID.map { [$0] } ?? []) + event.otherReporterIDs {
                    let wording = event.action == .dismiss ? Wording.noAction : 0
                    let values = NotificationValues(wording: wording)
                    drafts.append(NotificationDraft(NewNotification(user: reporter, kind: .reportUpdate, values: values)))
                }
                return drafts
            },
            EventHandler(PurchaseCompleted.self, in: batch) { event, _ in
                // What coins bought is in the wallet.
                guard event.coins == 0 else { return [] }
                let values = NotificationValues(subject: event.title)
                return [NotificationDraft(NewNotification(user: event.userID, kind: .purchaseReceipt, values: values))]
            },
            EventHandler(DataExportReady.self, in: batch) { event, _ in
                [
                    NotificationDraft(
                        NewNotification(
                            user: event.userID,
                            kind: .exportReady,
                            useful: event.deleteAt.map { .until($0) } ?? .asItsKind
                        )
                    )
                ]
            },
        ]
    }

    /// Each of the two reads the other's name.
    private static func both(
        _ one: UserID,
        _ two: UserID,
        _ kind: NotificationKind,
        streak: StreakID,
        deadline: Instant? = nil,
        values: (_ reader: UserID) -> NotificationValues
    ) -> [NotificationDraft] {
        [(min(one, two), max(one, two)), (max(one, two), min(one, two))].map { reader, other in
            NotificationDraft(
                NewNotification(
                    user: reader,
                    kind: kind,
                    values: values(reader),
                    actor: other,
                    streak: streak,
                    deadline: deadline
                )
            )
        }
    }
}
