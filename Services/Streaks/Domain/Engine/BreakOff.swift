public import Kernel

extension StreakLedger {
    /// A break by decision and not by a miss (SO-9). No late snap, token or outage undoes it.
    public struct BrokenOff: Hashable, Sendable {
        /// When it broke.
        public let at: Instant
        /// The member for whose conduct it broke.
        public let user: UserID

        public init(at: Instant, user: UserID) {
            self.at = at
            self.user = user
        }
    }

    /// Breaks a running streak by `user`. Nothing happens to one that has ended, is broken, or counts nothing (SD-8).
    mutating func breakOff(by user: UserID, _ state: StreakState) throws(ServiceError) {
        guard participant(user) != nil else { throw .notAMember }
        guard state.status == .active, state.count > 0 else { return }
        if let brokenOff { earlierBreakOffs.append(brokenOff) }
        brokenOff = BrokenOff(at: state.asOf, user: user)
    }

    /// Whether a break was a moderator's decision.
    public func isBreakOff(at instant: Instant) -> Bool {
        brokenOff?.at == instant || earlierBreakOffs.contains { $0.at == instant }
    }
}

extension FoldPass {
    /// The break off, once everything before it is settled: the newest date that a member's clock showed then is the missed one.
    func settleBreakOff() {
        guard policy.onBreak == .stop, let brokenOff = ledger.brokenOff, brokenOff.at <= limit, running.brokenOn == nil else {
            return
        }
        let date = participants.map { $0.zones.newestDate(by: limit) }.max() ?? running.settledThrough
        for (day, mark) in days where mark == .open { days[day] = StreakState.Mark.none }
        if days[date] != .complete { days[date] = .missed }
        log.append(.broken(date: date, at: brokenOff.at, by: brokenOff.user, count: running.count))
        running.brokenOn = date
        running.brokenAt = brokenOff.at
        running.brokenBy = brokenOff.user
        open = nil
    }

    /// The same for kinds that begin anew: the run ends on the date that the clock showed, and later dates begin another.
    func settleBreakOffs(on date: CalendarDate) {
        for (off, day) in breakOffs where day == date && running.count > 0 {
            if days[date] != .complete {
                days[date] = .missed
                if open?.slot.upperBound == date { open = nil }
            }
            breakRun(on: date, at: off.at, by: off.user)
            // No repair undoes it.
            running.lastBreak = nil
        }
    }
}
