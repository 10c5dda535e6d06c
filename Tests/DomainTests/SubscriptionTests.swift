import BillingDomain
import Kernel
import TestSupport
import Testing

/// The fold of a store's events (BI-1, BI-2), against a model that plays the ordered history event by event.
@Suite("Subscriptions")
struct SubscriptionTests {
    private static let start = Instant(seconds: 1_800_000_000)
    private static let month = Interval.days(30)

    private func event(
        _ kind: StoreEvent.Kind,
        _ id: String,
        at days: Int64,
        until end: Int64? = nil,
        product: String = "monthly"
    )
        -> StoreEvent
    {
        StoreEvent(
            id: id,
            kind: kind,
            at: Self.start + .days(days),
            product: product,
            transaction: "t",
            originalTransaction: "t",
            expiresAt: end.map { Self.start + .days($0) }
        )
    }

    /// A life as stores produce it: begins, renews, is cancelled and resumed, is not paid, ends, is refunded.
    private func history(_ dice: inout Seeded) -> [StoreEvent] {
        var (events, at, end) = ([StoreEvent](), Self.start, Self.start + Self.month)
        var purchased = at
        for index in 0..<Int.random(in: 1...25, using: &dice) {
            let kinds: [StoreEvent.Kind] = [
                .renewal, .renewal, .cancellation, .uncancellation, .billingIssue, .expiration, .extended, .refundReversed,
                .productChange, .paused, .temporaryGrant, .other, .snapshot,
            ]
            let kind = index == 0 ? .initialPurchase : dice.pick(kinds)
            // Several are sent together.
            if !dice.chance(30) { at = at + .hours(Int64.random(in: 1...400, using: &dice)) }
            if kind == .renewal { (purchased, end) = (at, max(at, end) + Self.month) }
            var event = StoreEvent(
                id: "\(index)",
                kind: kind,
                at: at,
                product: dice.chance(20) ? "annual" : "monthly",
                transaction: "t",
                originalTransaction: "t",
                periodType: dice.chance(20) ? .trial : .normal,
                purchasedAt: purchased,
                expiresAt: end,
                graceUntil: kind == .billingIssue && dice.chance(50) ? end + .days(6) : nil,
                cancelReason: kind == .cancellation ? dice.pick([.unsubscribed, .billingError, .refunded]) : nil
            )
            event.isUnsubscribed = dice.chance(30)
            event.hasBillingIssue = dice.chance(20)
            events.append(event)
        }
        return events
    }

    @Test(arguments: TestDepth.seeds(quick: 300, full: 20_000))
    func `come to the same in any order, with repeats, and cut anywhere`(seed: UInt64) {
        var dice = Seeded(seed)
        let whole = history(&dice)
        // Cut: some never arrive.
        let events = whole.filter { _ in !dice.chance(15) }
        let expected = Model.play(events)
        for _ in 0..<4 {
            let repeated = events + events.filter { _ in dice.chance(40) }
            let state = SubscriptionState.fold(repeated.shuffled(using: &dice))
            #expect(state.map(Model.init) == expected, "\(events)")
        }
        // One event at a time, as they arrive: the last fold is that of the whole.
        var (arrived, last) = ([StoreEvent](), SubscriptionState?.none)
        for event in events.shuffled(using: &dice) {
            arrived.append(event)
            last = SubscriptionState.fold(arrived)
        }
        #expect(last.map(Model.init) == expected)
    }

    @Test func `cancellation keeps access, expiry and refund end it`() throws {
        let bought = event(.initialPurchase, "1", at: 0, until: 30)
        var cancelled = event(.cancellation, "2", at: 10, until: 30)
        cancelled.cancelReason = .unsubscribed
        let state = try #require(SubscriptionState.fold([cancelled, bought]))
        #expect(state.status(at: Self.start + .days(20)) == .cancelled && !state.willRenew)
        #expect(state.status(at: Self.start + .days(30)) == .expired)
        cancelled.cancelReason = .refunded
        let refunded = try #require(SubscriptionState.fold([cancelled, bought]))
        #expect(refunded.accessUntil == Self.start + .days(10))
    }

    @Test func `a failed payment has grace until its own end, else until expiry`() throws {
        let bought = event(.initialPurchase, "1", at: 0, until: 30)
        var issue = event(.billingIssue, "2", at: 30, until: 30)
        #expect(SubscriptionState.fold([bought, issue])?.accessUntil == Self.start + .days(30))
        issue.graceUntil = Self.start + .days(46)
        var error = event(.cancellation, "3", at: 30, until: 30)
        error.cancelReason = .billingError
        let state = try #require(SubscriptionState.fold([error, issue, bought]))
        #expect(state.accessUntil == Self.start + .days(46))
        #expect(state.status(at: Self.start + .days(40)) == .billingRetry)
        // All three are of one instant, and arrive swapped.
        let ended = try #require(SubscriptionState.fold([event(.expiration, "0", at: 30, until: 30), error, issue, bought]))
        #expect(ended.status(at: Self.start + .days(31)) == .expired)
    }

    @Test func `the end of the old product does not end the new one, nor last year's refund this year`() throws {
        var old = event(.initialPurchase, "1", at: 0, until: 30)
        old.purchasedAt = Self.start
        var new = event(.renewal, "2", at: 10, until: 375, product: "annual")
        new.purchasedAt = Self.start + .days(10)
        let state = try #require(SubscriptionState.fold([event(.expiration, "3", at: 30, until: 30), new, old]))
        #expect(state.product == "annual" && state.accessUntil == Self.start + .days(375))
        var refund = event(.cancellation, "4", at: 40, until: 30)
        (refund.cancelReason, refund.purchasedAt) = (.refunded, Self.start)
        #expect(SubscriptionState.fold([refund, new, old])?.accessUntil == Self.start + .days(375))
    }

    @Test func `premium when any gives it, shown is the one that lasts longest`() {
        let short = SubscriptionState(store: "APP_STORE", product: "a", expiresAt: Self.start + .days(5))
        let long = SubscriptionState(store: "PLAY_STORE", product: "b", periodType: .trial, expiresAt: Self.start + .days(9))
        let both = Entitlement([short, long], at: Self.start)
        #expect(both.isPremium && both.shown?.product == "b" && both.bonusIndex == 0, "a trial earns no bonus")
        #expect(!Entitlement([short, long], at: Self.start + .days(9)).isPremium)
        #expect(Entitlement([short, long], at: Self.start + .days(20)).shown?.product == "b")
        #expect(!Entitlement([], at: Self.start).isPremium)
    }

    @Test(arguments: TestDepth.seeds(quick: 200, full: 5_000)) func `belong to whom the newest sign says`(seed: UInt64) {
        var dice = Seeded(seed)
        let users = (1...4).map { UserID(high: 0, low: UInt64($0)) }
        var (signs, owner, at) = ([Ownership.Sign](), UserID?.none, Self.start)
        for index in 0..<Int.random(in: 1...12, using: &dice) {
            at = at + .seconds(1)
            if dice.chance(50) {
                let user = dice.pick(users)
                signs.append(.event(event(.renewal, "\(index)", at: 0).moved(to: at), of: user))
                owner = user
            } else {
                let (from, to) = (dice.pick(users), dice.chance(20) ? nil : dice.pick(users))
                signs.append(.transfer(id: "\(index)", at: at, from: from, to: to))
                if owner == from { owner = to }
            }
        }
        #expect(Ownership.owner(signs.shuffled(using: &dice)) == owner)
    }
}

@Suite("The monthly bonus")
struct BonusRuleTests {
    private func instant(_ text: String) throws -> Instant { try #require(Instant(rfc3339: text)) }

    @Test func `is one for each month that begins while premium is given, and the one it begins in`() throws {
        let now = try instant("2027-03-15T00:00:00Z")
        let march = BonusRule.month(of: now)
        #expect(BonusRule.text(of: march) == "2027-03")
        #expect(BonusRule.start(of: march) == (try instant("2027-03-01T00:00:00Z")))
        #expect(BonusRule.months(next: nil, paidUntil: nil, isPaid: true, now: now) == [march])
        #expect(BonusRule.months(next: march + 1, paidUntil: now, isPaid: true, now: now) == [])
        #expect(BonusRule.months(next: nil, paidUntil: nil, isPaid: false, now: now) == [])
        // Not looked at for three months: those that premium reached.
        let until = try instant("2027-02-10T00:00:00Z")
        #expect(BonusRule.months(next: march - 2, paidUntil: until, isPaid: false, now: now) == [march - 2, march - 1])
        #expect(BonusRule.months(next: march - 2, paidUntil: until, isPaid: true, now: now) == [march - 2, march - 1, march])
    }

    @Test func `savings are those of the shop window`() {
        func saving(_ cents: Int64, _ units: Int64, _ base: Int64, _ of: Int64) -> Int32? {
            Catalogue.saving(of: .init(cents: cents, units: units), against: .init(cents: base, units: of))
        }
        #expect(saving(3_999, 12, 499, 1) == 33)
        #expect(saving(299, 10, 99, 3) == 9)
        #expect(saving(399, 5, 99, 1) == 19)
        #expect(saving(99, 1, 99, 1) == nil)
    }

    @Test func `a renewal that is not seen is asked for, before the end and after it, and then no more`() {
        let end = Instant(seconds: 1_800_000_000)
        var (now, asked) = (end - .days(3), [Interval]())
        while let next = AskSchedule.next(end: end, after: now) {
            asked.append(next - end)
            now = next
        }
        #expect(asked == [.minutes(-30), .minutes(-1), .minutes(5), .hours(1), .hours(24)])
    }
}

extension StoreEvent {
    fileprivate func moved(to at: Instant) -> StoreEvent {
        var event = self
        event.at = at
        return event
    }
}

/// What a subscription is at, written anew: it knows no fold, only what each event says about the period at hand.
private struct Model: Equatable {
    var product: String
    var periodType: StoreEvent.PeriodType
    var access: Instant?
    var willRenew: Bool
    var hasBillingIssue: Bool

    init(_ state: SubscriptionState) {
        (product, periodType, access) = (state.product, state.periodType, state.accessUntil)
        (willRenew, hasBillingIssue) = (state.willRenew, state.hasBillingIssue)
    }

    private struct Period {
        var begun: StoreEvent
        var end: Instant?
        var grace: Instant?
        var over: Instant?
        var cancelled = false
        var unpaid = false

        func after(_ event: StoreEvent) -> Period {
            var next = self
            let isOfNow = event.purchasedAt ?? event.at >= begun.purchasedAt ?? event.at
            let cut = min(event.expiresAt ?? event.at, event.at)
            switch (event.kind, event.cancelReason) {
            case (.uncancellation, _): (next.cancelled, next.end) = (false, event.expiresAt)
            case (.extended, _), (.refundReversed, _): (next.over, next.end) = (nil, event.expiresAt)
            case (.billingIssue, _): (next.unpaid, next.grace) = (true, event.graceUntil)
            case (.cancellation, .billingError): next.unpaid = true
            case (.cancellation, .refunded): if isOfNow { next.over = cut }
            case (.cancellation, _): next.cancelled = true
            case (.expiration, _): if isOfNow, event.product == begun.product { next.over = cut }
            case (.snapshot, _): (next.cancelled, next.unpaid) = (event.isUnsubscribed, event.hasBillingIssue)
            default: break
            }
            return next
        }
    }

    static func play(_ events: [StoreEvent]) -> Model? {
        let order: [StoreEvent.Kind] = [
            .initialPurchase, .renewal, .temporaryGrant, .nonRenewingPurchase, .uncancellation, .extended, .refundReversed,
            .productChange, .paused, .billingIssue, .cancellation, .expiration, .transfer, .alias, .redeemed, .snapshot, .other,
        ]
        func place(_ event: StoreEvent) -> Int { order.firstIndex(of: event.kind) ?? 99 }
        let sorted = events.sorted { ($0.at, place($0), $0.id) < ($1.at, place($1), $1.id) }
        var period: Period?
        for event in sorted where ![.productChange, .paused, .other].contains(event.kind) {
            let begins = [.initialPurchase, .renewal, .temporaryGrant, .snapshot].contains(event.kind)
            let known = begins ? nil : period
            period = (known ?? Period(begun: event, end: event.expiresAt)).after(event)
        }
        return period.map(Model.init)
    }

    private init(_ period: Period) {
        product = period.begun.product ?? ""
        periodType = period.begun.periodType
        var until = period.end
        if period.unpaid, let grace = period.grace, let end = until, grace > end { until = grace }
        if let over = period.over { until = until.map { $0 < over ? $0 : over } ?? over }
        access = until
        willRenew = period.begun.kind != .temporaryGrant && !period.cancelled && period.over == nil
        hasBillingIssue = period.unpaid
    }
}
