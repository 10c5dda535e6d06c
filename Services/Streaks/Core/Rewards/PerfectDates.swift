package import Outbox
package import Kernel
package import StreaksDomain

/// Perfect weeks and months of check-in streaks (CI-6): for their XP and for the badge alike.
package enum PerfectDates {
    /// The weeks and months that a check-in has completed, the ones before its own included: their last dates may have been excused. On most
    /// dates nothing can be, and nothing is read.
    ///
    /// - Parameter change: of the check-in, written.
    package static func completed(by date: CalendarDate, in change: PlannedChange, _ work: UnitOfWork) async throws
        -> [PerfectPeriods.Period]
    {
        let (ledger, state) = (change.change.ledger, change.change.state)
        guard let user = change.row.members.first, let zones = ledger.participants.first?.zones else { return [] }
        let (week, month) = (PerfectPeriods.week(of: date), PerfectPeriods.month(of: date))
        let mayBeExcused = !ledger.outages.isEmpty || zones.entries.count > 1
        let isToday = date == zones.date(at: state.asOf)
        guard date == week.upperBound || date == month.upperBound || !isToday || mayBeExcused else { return [] }
        let dates = PerfectPeriods.dates(around: date)
        let posted = try await LedgerReads.contributions(to: [change.row.id], since: dates.lowerBound, work.sql)
        let checkedIn = Set(posted.filter { $0.user == user }.map(\.date))
        let found = PerfectPeriods.completed(by: date, checkedIn: checkedIn) { _ in false }
        guard mayBeExcused else { return found }
        let policies = StreakPolicies.standard
        guard let whole = try await LedgerRepository(policies: policies).load([change.row], isWhole: true, work.sql).first else {
            return found
        }
        let all = fold(whole.ledger, policies.policy(for: change.row.kind), at: state.asOf)
        return PerfectPeriods.completed(by: date, checkedIn: checkedIn) { date in
            all.isExcused(on: date) && !whole.ledger.pauses.contains { $0.from <= date && date < $0.until }
        }
    }
}
