internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksDomain

extension StreaksService {
    /// MS-5, by month. From the whole ledger: a checkpoint would hide the months before it.
    func getCalendar(_ request: GetCalendarRequest, context: CallContext) async throws -> MonthCalendar {
        let user = try context.requireUser()
        let id = try StreakID(parsing: request.streakID, field: "streak_id")
        let asked = try request.month.map { text in
            guard let month = CalendarMonth(text) else {
                throw ServiceError.validation(field: "month", "must be a month, YYYY-MM")
            }
            return month
        }
        guard let (stored, state) = try await look(at: id, by: user), let reader = stored.ledger.participant(user) else {
            throw ServiceError.notFound("streak")
        }
        let month = asked ?? CalendarMonth(containing: reader.zones.date(at: state.asOf))
        let days = MutualView.days(month.dates, stored.ledger, state, reader: user)
        return MonthCalendar(
            streakID: id.description,
            month: month.description,
            days: days.map { CalendarDay($0) },
            completedDays: Int32(days.count { $0.mark == .both })
        )
    }
}

extension CalendarDay {
    init(_ day: MutualView.Day) {
        self.init(
            date: day.date.description,
            mark: CalendarMark(day.mark),
            completed: day.youPosted,
            partnerCompleted: day.friendPosted
        )
    }
}

extension CalendarMark {
    init(_ mark: MutualView.CalendarMark) {
        switch mark {
        case .none: self = .none
        case .you: self = .you
        case .friend: self = .friend
        case .both: self = .both
        case .broken: self = .broken
        case .recovered: self = .recovered
        }
    }
}
