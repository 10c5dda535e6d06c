internal import Kernel
internal import NotificationsCore
internal import NotificationsDomain
internal import Outbox
internal import SocialAPI
internal import StreaksAPI

/// Notifications about circles and their streaks (SO-10, TS-4).
extension NotificationHandlers {
    var teamHandlers: [EventHandler] { memberHandlers + teamStreakHandlers }

    private var memberHandlers: [EventHandler] {
        [
            EventHandler(CircleInvitationSent.self, in: batch) { event, now in
                guard let end = event.expiresAt, now < end else { return [] }
                let new = NewNotification(
                    user: event.toUserID,
                    kind: .teamInvitation,
                    values: NotificationValues(subject: event.circleName),
                    actor: event.fromUserID,
                    circle: event.circleID,
                    code: event.code,
                    useful: .until(min(end, now + NotificationKind.teamInvitation.usefulFor))
                )
                return [NotificationDraft(new)]
            },
            EventHandler(CircleChanged.self, in: batch) { event, _ in
                guard event.change == .memberJoined, let joined = event.userID, let circle = event.circle else { return [] }
                // Those who are in it with this change: who joins later gets no entry of it.
                return circle.members.map(\.userID).filter { $0 != joined }.sorted().map { member in
                    NotificationDraft(
                        NewNotification(
                            user: member,
                            kind: .teamJoined,
                            values: NotificationValues(subject: circle.name),
                            actor: joined,
                            circle: event.circleID
                        )
                    )
                }
            },
        ]
    }

    private var teamStreakHandlers: [EventHandler] {
        [
            EventHandler(TeamAtRisk.self, in: batch) { event, now in
                guard let end = event.deadlineAt, now < end else { return [] }
                let values = NotificationValues(
                    count: event.count,
                    amount: NotificationKind.hours(until: end, now),
                    subject: event.circleName
                )
                return Self.drafts(event.waitingIDs, .teamAtRisk, values, event.circleID, deadline: end, useful: .until(end))
            },
            EventHandler(TeamGraceStarted.self, in: batch) { event, now in
                guard let end = event.graceUntil, now < end else { return [] }
                let values = NotificationValues(
                    wording: Wording.teamGrace,
                    count: event.count,
                    amount: NotificationKind.hours(until: end, now),
                    subject: event.circleName
                )
                return Self.drafts(event.waitingIDs, .teamAtRisk, values, event.circleID, deadline: end, useful: .until(end))
            },
            EventHandler(TeamStreakBroken.self, in: batch) { event, now in
                var values = NotificationValues(count: event.count, subject: event.circleName)
                if let until = event.repairableUntil, until > now {
                    (values.wording, values.amount) = (Wording.teamSavable, NotificationKind.hours(until: until, now))
                }
                let until = event.repairableUntil
                return Self.drafts(event.memberIDs, .teamBroken, values, event.circleID, streak: event.streakID, deadline: until)
            },
            EventHandler(TeamStreakRestored.self, in: batch) { event, _ in
                let values = NotificationValues(wording: Wording.teamRestored, count: event.count, subject: event.circleName)
                // By the streak it is found that the break was undone.
                return Self.drafts(event.memberIDs, .teamMilestone, values, event.circleID, streak: event.streakID)
            },
            EventHandler(TeamMilestoneReached.self, in: batch) { event, _ in
                let values = NotificationValues(count: event.count, subject: event.circleName)
                return Self.drafts(event.memberIDs, .teamMilestone, values, event.circleID, streak: event.streakID)
            },
        ]
    }

    private static func drafts(
        _ users: [UserID],
        _ kind: NotificationKind,
        _ values: NotificationValues,
        _ circle: CircleID,
        streak: StreakID? = nil,
        deadline: Instant? = nil,
        useful: NewNotification.Usefulness = .asItsKind
    ) -> [NotificationDraft] {
        Set(users).sorted().map { user in
            NotificationDraft(
                NewNotification(
                    user: user,
                    kind: kind,
                    values: values,
                    streak: streak,
                    circle: circle,
                    deadline: deadline,
                    useful: useful
                )
            )
        }
    }
}
