internal import Kernel
internal import NotificationsAPI
internal import StreaksAPI
internal import StreaksDomain

/// What became of notifications, by kind: of a day, or of the whole range.
struct NotificationFigures {
    let figures: AnalyticsFigures

    private static let metrics: [AnalyticsMetric] = [
        .notificationPushed, .notificationSent, .notificationReceived, .notificationFailed, .notificationOpened,
        .notificationOpenedPushed, .notificationMarkedRead,
    ]

    /// By date, then kind; those of which nothing is known are left out.
    var days: [NotificationFigure] {
        figures.range.flatMap { day in
            kinds.compactMap { kind in figure(kind, day) { figures.value(day, nil, $0, kind) } }
        }
    }

    var totals: [NotificationFigure] {
        kinds.compactMap { kind in figure(kind, nil) { figures.total(nil, $0, kind) } }
    }

    private var kinds: [Int32] { Set(Self.metrics.flatMap { figures.buckets(nil, $0) }).sorted() }

    private func figure(_ kind: Int32, _ day: CalendarDate?, _ value: (AnalyticsMetric) -> Int64) -> NotificationFigure? {
        guard Self.metrics.contains(where: { value($0) != 0 }) else { return nil }
        let (pushed, sent) = (value(.notificationPushed), value(.notificationSent))
        let (received, openedPushed) = (value(.notificationReceived), value(.notificationOpenedPushed))
        return NotificationFigure(
            date: day,
            kind: Kind(rawValue: kind).name,
            pushed: pushed,
            sent: sent,
            received: received,
            failed: value(.notificationFailed),
            opened: value(.notificationOpened),
            openedPushed: openedPushed,
            markedRead: value(.notificationMarkedRead),
            engagementRate: AnalyticsFigures.percent(openedPushed, of: pushed),
            deliveryRate: AnalyticsFigures.percent(received, of: sent)
        )
    }
}
