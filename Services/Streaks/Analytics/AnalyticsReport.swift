internal import Database
internal import Kernel
internal import StreaksAPI
internal import StreaksDomain

/// Puts the figures of a range together.
struct AnalyticsReport: Sendable {
    private static let standardDays = 30
    private static let mostDays = 366

    let database: Database
    let clock: any Clock

    /// - Throws: `INVALID_RANGE` for a range that ends before it begins, or has more than 366 dates.
    func reply(to request: GetStreakAnalyticsRequest) async throws -> GetStreakAnalyticsReply {
        let today = Zone.utc.date(at: clock.now())
        guard let range = range(of: request) else {
            throw ServiceError(.invalidArgument, "INVALID_RANGE", "from must not be after to, and at most 366 dates are shown.")
        }
        let kinds = request.type.map { name in StreakKind.counted.filter { $0.typeName == name } } ?? StreakKind.counted
        let figures = try await FigureRepository.figures(of: kinds, in: range, database)
        let shown = kinds.filter(figures.kinds.contains)
        let parts = shown.map { AnalyticsDays(figures, $0) }
        let notifications = NotificationFigures(figures: figures)
        let checkIns = shown.firstIndex(of: .checkIn).map { parts[$0] }
        return GetStreakAnalyticsReply(
            from: range.lowerBound,
            to: range.upperBound,
            days: range.indices.flatMap { index in parts.map { $0.day(range[index]) } },
            totals: parts.map(\.totals),
            cohorts: try await RunRepository.cohorts(kinds, in: range, database).map { Self.cohort($0, today) },
            leaderboardWeeks: range.filter { $0.isoWeekday == 1 }.map { monday in
                let (viewers, sunday) = (figures.value(monday, nil, .leaderboardViewer), monday.advanced(by: 6))
                let running = range.contains(sunday) ? checkIns?.running(sunday) : nil
                return LeaderboardWeek(
                    week: monday,
                    viewers: viewers,
                    rate: running.flatMap { AnalyticsFigures.percent(viewers, of: $0) }
                )
            },
            sales: try await FigureRepository.sales(in: range, database).map {
                StreakSales(
                    date: $0.day,
                    item: $0.item,
                    purchases: $0.purchases,
                    coins: $0.coins,
                    usdMilli: $0.usdMilli,
                    firstPurchases: $0.firstPurchases
                )
            },
            notifications: notifications.days,
            notificationTotals: notifications.totals,
            dailyActives: range.map { DailyActives(date: $0, people: figures.value($0, nil, .activeUser)) }
        )
    }

    /// The dates that are shown; nil when the range ends before it begins, or has more than 366.
    func range(of request: GetStreakAnalyticsRequest) -> ClosedRange<CalendarDate>? {
        let last = request.to ?? Zone.utc.date(at: clock.now())
        let first = request.from ?? last.advanced(by: 1 - Self.standardDays)
        return first <= last && first.distance(to: last) < Self.mostDays ? first...last : nil
    }

    private static func cohort(_ cohort: AnalyticsCohort, _ today: CalendarDate) -> StreakCohort {
        let running = AnalyticsCohort.ages.map { cohort.running(after: $0, today: today) }
        let rates = running.map { $0.flatMap { AnalyticsFigures.percent($0, of: cohort.started) } }
        return StreakCohort(
            week: cohort.week,
            type: cohort.kind.typeName,
            started: cohort.started,
            runningAfter7: running[0],
            runningAfter30: running[1],
            runningAfter90: running[2],
            rateAfter7: rates[0],
            rateAfter30: rates[1],
            rateAfter90: rates[2]
        )
    }
}
