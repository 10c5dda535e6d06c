import AuthDomain
import BillingDomain
import Kernel
import MediaDomain
import Testing

@Suite("Refresh tokens")
struct RefreshFamilyTests {
    private let now = Instant(seconds: 1_700_000_000)

    private func token(
        _ generation: Int,
        newest: Int,
        used: Interval? = nil,
        expiresIn: Interval = .days(1),
        sessionExpiresIn: Interval = .days(30),
        revoked: Bool = false
    ) -> RefreshFamily.Presented {
        RefreshFamily.Presented(
            generation: generation,
            newestGeneration: newest,
            usedAt: used.map { now - $0 },
            expiresAt: now + expiresIn,
            sessionExpiresAt: now + sessionExpiresIn,
            isRevoked: revoked
        )
    }

    @Test func `Each case of the rule`() {
        #expect(RefreshFamily.decide(token(3, newest: 3), now: now) == .rotate)
        #expect(RefreshFamily.decide(token(2, newest: 3, used: .seconds(10)), now: now) == .repeatSuccessor)
        #expect(RefreshFamily.decide(token(1, newest: 3, used: .seconds(1)), now: now) == .revokeFamily)
        #expect(RefreshFamily.decide(token(3, newest: 3, expiresIn: .zero), now: now) == .refuse)
        #expect(RefreshFamily.decide(token(3, newest: 3, expiresIn: Interval(microseconds: 1)), now: now) == .rotate)
        #expect(RefreshFamily.decide(token(1, newest: 3, used: .minutes(5), expiresIn: .zero), now: now) == .refuse)
        #expect(RefreshFamily.decide(token(2, newest: 3, used: .seconds(1), revoked: true), now: now) == .refuse)
    }

    @Test func `The parent of the newest token gives it again whatever the time, for as long as the newest one lives`() {
        for used in [Interval.zero, .seconds(12), .hours(5), .days(59)] {
            #expect(RefreshFamily.decide(token(2, newest: 3, used: used), now: now) == .repeatSuccessor)
            #expect(RefreshFamily.decide(token(2, newest: 3, used: used, expiresIn: .zero), now: now) == .repeatSuccessor)
        }
        let late = token(2, newest: 3, used: .days(60), expiresIn: .zero, sessionExpiresIn: .zero)
        #expect(RefreshFamily.decide(late, now: now) == .refuse)
        #expect(RefreshFamily.decide(token(2, newest: 4, used: .seconds(1)), now: now) == .revokeFamily, "the newer one was used")
    }

    @Test(arguments: 0..<100)
    func `Using any token twice ends the session, unless it is the parent of one that was never used`(seed: Int) {
        var dice = Dice(seed)
        var clock = now
        var usedAt: [Int: Instant] = [:]
        var newest = 0
        var isRevoked = false
        for _ in 0..<60 {
            clock = clock + .hours(Int64(dice.roll(15)))
            let generation = max(0, newest - dice.roll(4))
            let decision = RefreshFamily.decide(
                .init(
                    generation: generation,
                    newestGeneration: newest,
                    usedAt: usedAt[generation],
                    expiresAt: clock + .days(7),
                    sessionExpiresAt: clock + .days(7),
                    isRevoked: isRevoked
                ),
                now: clock
            )
            switch decision {
            case .rotate:
                #expect(generation == newest && !isRevoked)
                usedAt[generation] = clock
                newest += 1
            case .repeatSuccessor: #expect(generation == newest - 1 && !isRevoked)
            case .revokeFamily:
                #expect(usedAt[generation] != nil && generation < newest - 1 && !isRevoked)
                isRevoked = true
            case .refuse: #expect(isRevoked)
            }
        }
    }
}

@Suite("Usernames")
struct UsernameTests {
    private static let odd = [
        "a@b.c", "@b.c", "", "no-at-sign", "ünïcode@x.de", "日本語@例え.jp", "UPPER.Case_9@x", "a+b@x", "\"quo ted\"@x", "..@x",
        "\u{1F600}@x",
        "ß@x", "İstanbul@x", "e\u{301}e\u{301}@x", "\u{2160}\u{2161}\u{2162}@x", "１２３@x", "a\u{0}b@x",
        String(repeating: "x", count: 300) + "@y",
        "a.b.c.d@e@f",
    ]

    private static func isValid(_ name: String) -> Bool {
        (3...30).contains(name.utf8.count)
            && name.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == 95 || $0 == 46 }
    }

    @Test(arguments: odd) func `made from any e-mail are valid at every attempt`(email: String) {
        for attempt in 0..<12 {
            for salt in [0, 1, 99, 12_345, UInt64.max] {
                let name = Username.proposal(email: email, attempt: attempt, salt: salt)
                #expect(Self.isValid(name), "\(name)")
            }
        }
    }

    @Test(arguments: 0..<200) func `made from random bytes are valid`(seed: Int) {
        var dice = Dice(seed)
        var email = ""
        for _ in 0..<dice.roll(40) {
            email.unicodeScalars.append(Unicode.Scalar(UInt32(dice.roll(0xD7FF))) ?? "a")
        }
        let name = Username.proposal(email: email + "@x", attempt: dice.roll(5), salt: UInt64(dice.roll(1 << 30)))
        #expect(Self.isValid(name), "\(name)")
    }

    @Test func `Later attempts differ by their salt`() {
        #expect(Username.proposal(email: "ann@x", attempt: 0, salt: 5) == "ann")
        #expect(Username.proposal(email: "ann@x", attempt: 1, salt: 5) == "ann_5")
        #expect(
            Username.proposal(email: "ann@x", attempt: 3, salt: 123) != Username.proposal(email: "ann@x", attempt: 3, salt: 124)
        )
    }
}

@Suite("Snaps")
struct SnapTests {
    private let one = StreakID(high: 0, low: 1)
    private let two = StreakID(high: 0, low: 2)

    @Test func `name their streaks repeated, comma-separated, or as all`() throws {
        #expect(try SnapTarget(["\(one)", "\(two)"]) == .streaks([one, two]))
        #expect(try SnapTarget(["\(two), \(one)", "\(two)"]) == .streaks([two, one]))
        #expect(try SnapTarget(["all"]) == .all)
        #expect(try SnapTarget(["\(one)", " all "]) == .all)
        #expect(try SnapTarget(["\(one),,"]) == .streaks([one]))
    }

    @Test(arguments: [[], [""], [","], ["every"], ["00000000-0000"]])
    func `that name none, or something else, are refused by field`(texts: [String]) {
        let error = #expect(throws: ServiceError.self) { try SnapTarget(texts) }
        #expect(error?.reason == "VALIDATION_ERROR")
        #expect(error?.details.first?.field.hasPrefix("streak_ids") == true)
    }

    @Test func `The element that is wrong is named`() {
        let error = #expect(throws: ServiceError.self) { try SnapTarget(["\(one)", "\(two),x"]) }
        #expect(error?.details.first?.field == "streak_ids[1]")
        let more = #expect(throws: ServiceError.self) { try SnapTarget(["x,y", "\(one)", "all,z"]) }
        #expect(more?.details.map(\.field) == ["streak_ids[0]", "streak_ids[2]"], "once each")
    }

    @Test func `that no streak takes are refused with the common reason, or all of them`() {
        #expect(SnapRefusal.error([]).reason == "NO_ACTIVE_STREAKS")
        let same = SnapRefusal.error([(one, "ALREADY_POSTED"), (two, "ALREADY_POSTED")])
        #expect(same.code == .alreadyExists && same.reason == "ALREADY_POSTED" && same.details.count == 2)
        let mixed = SnapRefusal.error([(one, "ALREADY_POSTED"), (two, "NOT_A_MEMBER")])
        #expect(mixed.code == .failedPrecondition && mixed.reason == "SNAP_REFUSED")
        // A user may not learn of a streak that is not theirs.
        #expect(SnapRefusal.error([(one, "NOT_A_MEMBER")]).code == .notFound)
        #expect(SnapRefusal.error([(one, "NOT_A_MEMBER")]).reason == "NOT_FOUND")
        #expect(SnapRefusal.error([(one, "PAUSED")]).reason == "PAUSED")
    }
}

@Suite("The ledger")
struct LedgerRuleTests {
    @Test(arguments: 0..<100) func `never shows a negative balance and keeps to the sum of what it took`(seed: Int) {
        var dice = Dice(seed)
        var balance: Int64 = 0
        var sum: Int64 = 0
        for _ in 0..<200 {
            let amount = Int64(dice.roll(21) - 10)
            do {
                balance = try Ledger.balance(after: amount, from: balance, of: .recoveryTokens)
                sum += amount
            } catch {
                #expect(error.reason == "NO_RECOVERY_TOKENS")
                #expect(balance + amount < 0)
            }
            #expect(balance >= 0 && balance == sum)
        }
    }

    @Test func `refuses what does not fit instead of trapping`() {
        #expect(throws: ServiceError.self) { try Ledger.balance(after: .max, from: .max, of: .coins) }
        #expect(throws: ServiceError.self) { try Ledger.balance(after: .min, from: .max, of: .coins) }
    }

    @Test func `takes back what is there, and says what is missing`() {
        #expect(Ledger.takeBack(3, from: 5) == (3, 0))
        #expect(Ledger.takeBack(3, from: 1) == (1, 2))
        #expect(Ledger.takeBack(3, from: 0) == (0, 3))
    }
}
