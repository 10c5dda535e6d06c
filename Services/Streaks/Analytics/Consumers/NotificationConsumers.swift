internal import Kernel
internal import NotificationsAPI
internal import Outbox
internal import StreaksDomain

/// What becomes of notifications (TS-5): the rate of engagement. The day is the one on which they were written, so that the share of
/// those that were opened is one of the same notifications.
enum NotificationConsumers {
    static var all: [EventHandler] {
        [
            EventHandler(NotificationDelivered.self) { event, work in
                let facts = event.counts.flatMap { count in
                    [
                        fact(.notificationPushed, count.kind, count.date, count.pushed),
                        fact(.notificationSent, count.kind, count.date, count.sent),
                        fact(.notificationReceived, count.kind, count.date, count.received),
                        fact(.notificationFailed, count.kind, count.date, count.failed),
                    ]
                }
                try await FactRepository.add(facts.filter { $0.amount != 0 }, work.sql)
            },
            EventHandler(NotificationOpened.self) { event, work in
                let facts = event.counts.flatMap { count in
                    guard !event.all else { return [fact(.notificationMarkedRead, count.kind, count.date, count.opened)] }
                    return [
                        fact(.notificationOpened, count.kind, count.date, count.opened),
                        fact(.notificationOpenedPushed, count.kind, count.date, count.pushed),
                    ]
                }
                try await FactRepository.add(facts.filter { $0.amount != 0 }, work.sql)
            },
        ]
    }

    private static func fact(_ metric: AnalyticsMetric, _ kind: Kind, _ day: CalendarDate, _ count: Int32) -> Fact {
        Fact(metric: metric, day: day, bucket: kind.rawValue, amount: Int64(count))
    }
}
