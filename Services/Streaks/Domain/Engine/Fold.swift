public import Kernel

/// The state of a streak at `now`, everything due by then settled: replaying, settling late, twice or elsewhere gives the same (SD-5).
///
/// The pass judges date by date from the checkpoint by the rules of SD-4. It uses only what was recorded by `now`.
public func fold(_ ledger: StreakLedger, _ policy: StreakPolicy, at now: Instant) -> StreakState {
    let pass = FoldPass(ledger, policy, now: now)
    pass.run()
    return pass.state()
}

/// One pass over the dates of a ledger. A class only so that asking it something copies nothing.
final class FoldPass {
    let ledger: StreakLedger
    let policy: StreakPolicy
    /// What is due when, and judged together.
    let calendar: SlotCalendar
    let now: Instant
    let participants: [StreakLedger.Participant]
    /// Of each participant, the first dates of their stays.
    let firstDates: [[CalendarDate]]
    /// Breaks by decision of kinds that begin anew, with the dates that the clock showed.
    let breakOffs: [(off: StreakLedger.BrokenOff, date: CalendarDate)]
    /// Whether the streak had ended by now.
    let isEnded: Bool
    /// Until when dates are settled.
    let limit: Instant
    /// What is settled so far.
    var running: Checkpoint
    var days: [CalendarDate: StreakState.Mark] = [:]
    var log: [StreakEffect] = []
    /// Times in which the streak counted as broken until its break was undone.
    var closures: [Checkpoint.Closure]
    /// The earliest slot that is neither over nor complete but could be.
    var open: Open?
    /// Freezes that are not in hand yet, in time order.
    var pendingGrants: [Grant]
    /// Freezes set by hand on dates that are not over.
    var reserved = 0
    /// Of habits: what the slots came to, by their last dates, and the runs.
    var outcomes: [CalendarDate: HabitDay.Outcome] = [:]
    var runs: [HabitRun] = []
    /// What the present run counts.
    var unit: Schedule.Unit

    struct Open {
        var slot: ClosedRange<CalendarDate>
        var deadline: Instant
        var isSheltered: Bool
    }

    /// Freezes that come into hand at an instant: granted, or earned by a count.
    struct Grant {
        var at: Instant
        var count: Int
        /// What its effect reports, for earned ones.
        var earned: (count: Int, date: CalendarDate, run: CalendarDate, isMilestone: Bool)?
        /// It leaves the hand: spent by hand on this date after its end, when the count there was this.
        var spent: (date: CalendarDate, count: Int)?
        /// It follows from the fold: no entry of the ledger says it.
        var isFolded: Bool { earned != nil || spent != nil }
    }

    enum Verdict: Equatable {
        case complete
        case nothingAtStake
        case covered
        /// By a time machine.
        case filled(StreakLedger.Recovery)
        case neutral
        case frozen
        /// By a freeze that was used by hand after the date had broken the streak (CI-2).
        case frozenByHand(at: Instant)
        /// By a freeze that an outage, declared afterwards, gave back.
        case keptFrozen
        /// One of the month's free dates.
        case free
        /// By an insurance or a shield; that of a premium plan has no id.
        case protected(StreakLedger.Protection.Kind, OperationID?)
        case broken(by: UserID?)
    }

    /// - Parameter closures: nil: those that follow from the ledger (`FoldPass.closures(of:)`).
    init(_ ledger: StreakLedger, _ policy: StreakPolicy, now: Instant, closures: [Checkpoint.Closure]? = nil) {
        self.ledger = ledger
        self.policy = policy
        self.now = now
        calendar = SlotCalendar(ledger, policy)
        unit = calendar.unit(on: ledger.base.settledThrough)
        isEnded = ledger.endedAt.map { $0 <= now } ?? false
        let stop = policy.onBreak == .stop ? ledger.brokenOff?.at : nil
        let limit = [now, ledger.endedAt, stop].compactMap { $0 }.min() ?? now
        self.limit = limit
        participants = Self.known(ledger.participants, at: now)
        firstDates = Self.firstDates(of: participants, since: ledger.start)
        if policy.onBreak == .restart, let last = ledger.brokenOff {
            let zones = participants.map(\.zones)
            breakOffs = (ledger.earlierBreakOffs + [last]).filter { $0.at <= limit }
                .map { off in (off, zones.map { $0.newestDate(by: off.at) }.max() ?? Zone.utc.date(at: off.at)) }
        } else {
            breakOffs = []
        }
        running = ledger.base
        self.closures = closures ?? Self.closures(of: ledger, policy, now: now)
        let received = ledger.base.grantsThrough ?? .distantPast
        pendingGrants = ledger.freezeGrants.filter { $0.at > received && $0.at <= now }.map { Grant(at: $0.at, count: $0.count) }
            .sorted { $0.at < $1.at }
    }

    /// Participants as they were known at `now`; who joined later is absent.
    private static func known(_ participants: [StreakLedger.Participant], at now: Instant) -> [StreakLedger.Participant] {
        participants.compactMap { participant in
            var known = participant
            known.zones = participant.zones.known(at: now)
            if known.stays.contains(where: { $0.joined != nil || $0.left != nil }) {
                known.stays = participant.stays.filter { $0.joined.map { $0 <= now } ?? true }.map { stay in
                    StreakLedger.Stay(joined: stay.joined, left: stay.left.flatMap { $0 <= now ? $0 : nil })
                }
                if known.stays.isEmpty { return nil }
            }
            return known
        }
    }

    /// The first dates of all participants' stays (`StreakLedger.Stay`).
    private static func firstDates(of participants: [StreakLedger.Participant], since start: Instant) -> [[CalendarDate]] {
        participants.map { participant in
            participant.stays.map { stay in
                guard let joined = stay.joined, joined > start else { return participant.firstDate(since: start) }
                let present = participants.filter { other in
                    other.user == participant.user
                        || other.stays.contains { $0.joined.map { $0 <= joined } ?? true && $0.left.map { $0 > joined } ?? true }
                }
                let shown = present.map { $0.zones.newestDate(by: joined) }.max() ?? participant.zones.newestDate(by: joined)
                return shown.advanced(by: 1)
            }
        }
    }

    /// The streak stopped at a break or its end; later dates are not judged.
    var isStopped: Bool { policy.onBreak == .stop && running.brokenOn != nil }

    /// Judges the slots up to the newest date any clock has shown or any contribution has.
    func run() {
        let shown = participants.map { $0.zones.newestDate(by: limit) }.max() ?? running.settledThrough
        let posted = ledger.contributions.filter { $0.value.contains { $0.recordedAt <= now } }.keys.max() ?? shown
        var date = running.settledThrough.advanced(by: 1)
        while date <= max(shown, posted), !isStopped {
            let slot = calendar.slot(of: date)
            judge(slot)
            date = slot.upperBound.advanced(by: 1)
        }
        receiveGrants(through: now)
        settleBreakOff()
        if open == nil, !isStopped, !isEnded { findOpen(from: date) }
    }

    func judge(_ slot: ClosedRange<CalendarDate>) {
        endRunOfOtherUnit(slot)
        guard slot.contains(where: calendar.includes) else {
            days[slot.upperBound] = .neutral
            return
        }
        if isComplete(slot, known: now) {
            noteClosure(slot)
            extend(slot)
            settleBreakOffs(on: slot.upperBound)
            return
        }
        if breakOffs.contains(where: { $0.date == slot.upperBound }), running.count > 0 {
            settleBreakOffs(on: slot.upperBound)
            return
        }
        let over = self.over(slot)
        if policy.grace != nil, over > end(of: slot), end(of: slot) <= limit {
            log.append(.graceStarted(date: slot.upperBound, until: over))
        }
        guard over <= limit else {
            days[slot.upperBound] = isEnded ? StreakState.Mark.none : .open
            reserved += isFrozenByHand(slot, known: now) ? 1 : 0
            if open == nil, !isEnded, isCompletable(slot), !isPaused(slot, known: now) { setOpen(slot, over) }
            return
        }
        receiveGrants(before: over)
        settle(slot, over)
    }

    /// SD-4, for a slot that is over.
    private func settle(_ slot: ClosedRange<CalendarDate>, _ over: Instant) {
        let date = slot.upperBound
        if policy.grace != nil, over > end(of: slot) { running.lastGrace = date }
        let verdict = self.verdict(slot, over, known: now)
        noteOutcome(verdict, slot, over)
        switch verdict {
        case .complete: break
        case .nothingAtStake: days[date] = StreakState.Mark.none
        case .covered: days[date] = .covered
        case .neutral: days[date] = .neutral
        case .frozen:
            days[date] = .frozen
            running.freezes -= 1
            let byHand = isFrozenByHand(slot, known: now)
            count(date, at: over) { .freezeSpent(date: date, count: $0.count, left: $0.freezes, byHand: byHand) }
        case .frozenByHand(let at):
            days[date] = .frozen
            count(date, at: at)
            add(Grant(at: at, count: -1, spent: (date, running.count)))
        case .keptFrozen:
            days[date] = .frozen
            count(date, at: over)
        case .filled(let fill):
            days[date] = .filled
            count(date, at: fill.at) { .filled(date: date, count: $0.count, id: fill.id) }
        case .free:
            days[date] = .neutral
            let used = usedFreeDates(in: date) + 1
            running.freeDatesMonth = date
            running.freeDatesUsed = used
            log.append(.freeDateUsed(date: date, left: max(0, freeDates(in: date, at: over) - used)))
        case .protected(let kind, let id):
            days[date] = .covered
            if let id { running.spentProtections.insert(id) } else { running.lastPremiumInsurance = date }
            log.append(.protectionSpent(date: date, kind: kind, id: id))
        case .broken(let user):
            days[date] = .missed
            breakRun(on: date, at: over, by: user)
        }
        if verdict == .covered || verdict == .neutral { noteClosure(slot) }
    }

    /// The run ends with a break.
    func breakRun(on date: CalendarDate, at instant: Instant, by user: UserID?) {
        log.append(.broken(date: date, at: instant, by: user, count: running.count))
        running.brokenOn = date
        running.brokenAt = instant
        running.brokenBy = user
        guard policy.onBreak == .restart else { return }
        running.lastBreak = StreakState.Break(date: date, at: instant, count: running.count)
        noteRun(ended: .missed(date))
        running.count = 0
        running.runStart = nil
    }

    private func extend(_ slot: ClosedRange<CalendarDate>) {
        let date = slot.upperBound
        days[date] = .complete
        if policy.grace != nil, hadGrace(slot), !isComplete(slot, received: end(of: slot)) {
            log.append(.graceStarted(date: date, until: over(slot)))
            running.lastGrace = date
        }
        running.lastCompletedDate = max(running.lastCompletedDate ?? date, date)
        let received = policy.freezes == nil ? nil : lastReceived(slot)
        count(date, at: received ?? now) { .completed(date: date, count: $0.count, run: $0.runStart ?? date) }
    }

    /// When the last contribution of a slot was received.
    private func lastReceived(_ slot: ClosedRange<CalendarDate>) -> Instant? {
        slot.compactMap { ledger.contributions[$0]?.filter { $0.recordedAt <= now }.map(\.receivedAt).max() }.max()
    }

    /// One more date of the run, and what its count brings.
    ///
    /// - Parameters:
    ///   - instant: when it was reached: what it earns serves only dates that are over later.
    ///   - effect: reports the date; nil when it has been reported.
    private func count(_ date: CalendarDate, at instant: Instant, _ effect: ((Checkpoint) -> StreakEffect)? = nil) {
        running.brokenOn = nil
        running.brokenAt = nil
        running.brokenBy = nil
        let run = running.runStart ?? date
        running.runStart = run
        running.count += 1
        let count = running.count
        let isFirst = longest < count
        noteLongest()
        if celebrated.contains(count) { log.append(.milestone(count: count, date: date, run: run, isFirst: isFirst)) }
        if let every = policy.recovery?.earnedEvery, every > 0, count % every == 0 {
            log.append(.tokenEarned(count: count, date: date, run: run))
        }
        if let freezes = policy.freezes {
            if let every = freezes.earnedEvery?.value(isPremium: isPremium(at: instant)), every > 0, count % every == 0 {
                earn(1, (count, date, run, false), at: instant)
            }
            if isFirst, let some = freezes.ofMilestones[count] { earn(some, (count, date, run, true), at: instant) }
        }
        if let effect { log.append(effect(running)) }
    }

    private func earn(_ count: Int, _ earned: (count: Int, date: CalendarDate, run: CalendarDate, isMilestone: Bool), at: Instant)
    {
        add(Grant(at: at, count: count, earned: earned))
    }

    private func add(_ grant: Grant) {
        let place = pendingGrants.firstIndex { $0.at > grant.at } ?? pendingGrants.endIndex
        pendingGrants.insert(grant, at: place)
    }

    /// Freezes that were obtained before a date's end serve it, later ones do not.
    private func receiveGrants(before instant: Instant) {
        while let grant = pendingGrants.first, grant.at < instant { receive(grant) }
    }

    private func receiveGrants(through instant: Instant) {
        while let grant = pendingGrants.first, grant.at <= instant { receive(grant) }
    }

    /// What is earned above the cap is lost; what was bought never is.
    private func receive(_ grant: Grant) {
        pendingGrants.removeFirst()
        if let (date, count) = grant.spent {
            running.freezes -= 1
            log.append(.freezeSpent(date: date, count: count, left: max(0, running.freezes), byHand: true))
            return
        }
        guard let earned = grant.earned else {
            running.freezes += grant.count
            running.grantsThrough = grant.at
            return
        }
        let granted = min(grant.count, max(0, (policy.freezes?.cap ?? 0) - running.freezes))
        running.freezes += granted
        log.append(
            .freezeEarned(
                count: earned.count,
                date: earned.date,
                run: earned.run,
                isMilestone: earned.isMilestone,
                freezes: grant.count,
                granted: granted
            )
        )
    }

    /// Whether the user of a streak of one was on a premium plan.
    func isPremium(at instant: Instant) -> Bool {
        participants.count == 1 && participants[0].plans.isPremium(at: instant)
    }

    private func setOpen(_ slot: ClosedRange<CalendarDate>, _ deadline: Instant) {
        let isSheltered = cover(slot, known: now) != nil || isNeutral(slot, deadline, known: now)
        open = Open(slot: slot, deadline: deadline, isSheltered: isSheltered)
    }

    /// The first slot to come that counts: pauses are 90 dates at most, and no schedule leaves out more than a year.
    private func findOpen(from date: CalendarDate) {
        guard ledger.habit?.isArchived != true else { return }
        var date = date
        for _ in 0..<800 {
            let slot = calendar.slot(of: date)
            if slot.contains(where: calendar.includes), isCompletable(slot), !isPaused(slot, known: now) {
                setOpen(slot, over(slot))
                return
            }
            date = slot.upperBound.advanced(by: 1)
        }
    }
}
