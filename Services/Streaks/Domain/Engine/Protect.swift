public import Kernel

/// Free dates, insurances and shields (TS-3).
extension FoldPass {
    /// How many missed dates of the month of `date` are neutral by themselves, by the plan at `instant`.
    func freeDates(in date: CalendarDate, at instant: Instant) -> Int {
        policy.freeDatesPerMonth?.value(isPremium: isPremium(at: instant)) ?? 0
    }

    /// How many of them are used.
    func usedFreeDates(in date: CalendarDate) -> Int {
        guard let month = running.freeDatesMonth else { return 0 }
        let (one, other) = (month.components, date.components)
        return one.year == other.year && one.month == other.month ? running.freeDatesUsed : 0
    }

    /// What keeps a date that was over at `over`: the premium plan's own insurance first, so that a bought one is not spent.
    func protection(_ date: CalendarDate, _ over: Instant) -> Verdict? {
        if let every = policy.premiumInsuranceEvery, isPremium(at: over),
            running.lastPremiumInsurance.map({ $0.distance(to: date) >= every }) ?? true
        {
            return .protected(.insurance, nil)
        }
        return heldProtections(at: over).first { $0.at < over }.map { .protected($0.kind, $0.id) }
    }

    /// What is held and valid at an instant: what expires first is spent first. Each is spent on one break; of several shields the others
    /// stay for the next ones.
    func heldProtections(at instant: Instant) -> [StreakLedger.Protection] {
        guard !ledger.protections.isEmpty else { return [] }
        // A shield ends only when its purchase is refunded: that changes nothing in what was spent before.
        func expiry(_ protection: StreakLedger.Protection) -> Int64 {
            protection.kind == .shield ? .max : protection.until?.microseconds ?? .max
        }
        return ledger.protections.filter { held in
            held.at <= instant && held.until.map { instant < $0 } ?? true && !running.spentProtections.contains(held.id)
        }.sorted { (expiry($0), $0.at.microseconds, $0.id) < (expiry($1), $1.at.microseconds, $1.id) }
    }
}

extension StreakLedger {
    /// When the streak may be insured again: one bought insurance in 7 days, also when it is spent (TS-3). nil: now.
    public func insurableFrom(at now: Instant) -> Instant? {
        let next = protections.lazy.filter { $0.kind == .insurance }.map { $0.at + PowerUp.insuranceLength }.max()
        return next.flatMap { $0 > now ? $0 : nil }
    }

    /// TS-3.
    mutating func protect(
        _ kind: Protection.Kind,
        until: Instant?,
        _ id: OperationID,
        receivedAt: Instant,
        _ policy: StreakPolicy,
        _ state: StreakState
    ) throws(ServiceError) {
        guard !protections.contains(where: { $0.id == id }) else { return }
        guard policy.protections.contains(kind) else {
            throw ServiceError(.failedPrecondition, "PROTECTION_NOT_ALLOWED", "This streak cannot have this protection.")
        }
        guard endedAt == nil else { throw .notActive }
        guard until.map({ state.asOf < $0 }) ?? true else { throw .validation(field: "until", "must be after now") }
        try late(receivedAt, policy, state) { ledger, instant in
            ledger.protections.append(Protection(kind: kind, at: instant, until: until, id: id))
        }
    }

    /// Shields of a purchase that was refunded end now (BI-5), those that came last first: at most as many as are unspent.
    mutating func takeShields(_ count: Int, _ state: StreakState) throws(ServiceError) {
        guard endedAt == nil else { throw .notActive }
        let held = Set(state.protections.filter { $0.kind == .shield }.suffix(max(0, count)).map(\.id))
        for index in protections.indices where held.contains(protections[index].id) { protections[index].until = state.asOf }
    }
}
