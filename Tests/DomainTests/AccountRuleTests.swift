import AuthDomain
import Kernel
import Testing

@Suite("Failed logins")
struct LoginLimitTests {
    private let start = Instant(seconds: 1_800_000_000)

    @Test(arguments: 0..<100)
    func `Whatever the order and pace, no window of 15 minutes holds more than the limit, and waiting as asked is enough`(
        seed: Int
    ) {
        var dice = Dice(seed)
        let limit = LoginLimit(failures: 1 + dice.roll(12))
        var now = start
        var remembered: [Instant] = []
        var answered: [Instant] = []
        for _ in 0..<200 {
            now = now + .seconds(Int64(dice.roll(dice.roll(4) == 0 ? 900 : 60)))
            switch limit.decide(remembered, now: now) {
            case .allowed:
                remembered = limit.adding(to: remembered, now: now)
                answered.append(now)
            case .refused(let seconds):
                #expect((1...901).contains(seconds))
                #expect(limit.decide(remembered, now: now + .seconds(Int64(seconds))) == .allowed)
                if seconds > 2 { #expect(limit.decide(remembered, now: now + .seconds(Int64(seconds - 2))) != .allowed) }
            }
            #expect(remembered.count <= limit.failures)
            #expect(answered.filter { $0 > now - LoginLimit.window }.count <= limit.failures)
        }
    }

    @Test func `More than the limit, from a lower one before, are waited for one by one`() {
        let failed = (0..<20).map { start + .seconds(Int64($0)) }
        #expect(LoginLimit.account.decide(failed, now: start + .minutes(14)) == .refused(retryAfter: 71))
    }
}

@Suite("Signing keys")
struct KeyScheduleTests {
    @Test(arguments: [0, 1_800_000_059, 4_102_444_799]) func `Names say when a key was made`(seconds: Int) {
        let made = Instant(seconds: Int64(seconds))
        let name = KeySchedule.name(now: made)
        #expect(name.count == 20)
        #expect(KeySchedule(names: ["0001.pem", name], now: made + .seconds(59)).signing == "0001.pem")
        #expect(KeySchedule(names: ["0001.pem", name], now: made + .seconds(60)).signing == name)
    }

    @Test(arguments: 0..<100)
    func `A token that any replica has signed is verified by what every replica publishes, for as long as it lives`(seed: Int) {
        var dice = Dice(seed)
        var now = Instant(seconds: 1_800_000_000)
        var names = ["0001.pem"]
        var published: [Instant: [String]] = [:]
        var signed: [(at: Instant, key: String)] = []
        for _ in 0..<300 {
            if dice.roll(12) == 0 { names.append(KeySchedule.name(now: now)) }
            let schedule = KeySchedule(names: names.sorted { $0 > $1 }, now: now)
            published[now] = schedule.published
            if let signing = schedule.signing { signed.append((now, signing)) }
            #expect(schedule.published.contains(schedule.signing ?? ""))
            now = now + .seconds(Int64(1 + dice.roll(120)))
        }
        for token in signed {
            for (instant, keys) in published where instant >= token.at && instant <= token.at + .minutes(15) {
                #expect(keys.contains(token.key))
            }
            // A gateway that asked up to 30 s earlier has it too.
            for (instant, keys) in published where instant < token.at && instant >= token.at - .seconds(30) {
                #expect(keys.contains(token.key))
            }
        }
        #expect(KeySchedule(names: names, now: now + .days(1)).published.count == 1)
    }

    @Test func `Names without a time all stay, the last signs; no key is no key`() {
        let schedule = KeySchedule(names: ["0002.pem", "0001.pem", "old.pem"], now: .epoch)
        #expect(schedule.published == ["0001.pem", "0002.pem", "old.pem"] && schedule.signing == "old.pem")
        #expect(KeySchedule(names: [], now: .epoch).signing == nil)
        #expect(KeySchedule(names: ["20269901T000000Z.pem"], now: .epoch).signing == "20269901T000000Z.pem", "no such date")
    }
}

@Suite("Keys of others")
struct KeySetFreshnessTests {
    @Test(arguments: 0..<100)
    func `Are asked for at most once a minute however many tokens come, and sooner only after a failure`(seed: Int) {
        var dice = Dice(seed)
        var freshness = KeySetFreshness()
        var now = Instant(seconds: 1_800_000_000)
        var succeeded: Instant?
        var failed: Instant?
        for _ in 0..<500 {
            now = now + .milliseconds(Int64(dice.roll(dice.roll(5) == 0 ? 90_000 : 2_000)))
            let isKnown = succeeded != nil && dice.roll(2) == 0
            switch freshness.decide(isKnown: isKnown, now: now) {
            case .fetch:
                if let succeeded { #expect(now - succeeded >= (isKnown ? .hours(24) : .minutes(1))) }
                if let failed { #expect(now - failed >= .seconds(5)) }
                if dice.roll(3) == 0 {
                    freshness.failed(now: now)
                    failed = now
                } else {
                    freshness.succeeded(now: now)
                    (succeeded, failed) = (now, nil)
                }
            case .wait(let interval): #expect(succeeded == nil && interval > .zero && interval <= .seconds(5))
            case .use: #expect(succeeded != nil)
            }
        }
    }
}

@Suite("Sign in with Apple")
struct AppleRuleTests {
    @Test func `Links only what both sides have proved to own`() {
        for isVerified in [true, false] {
            #expect(AppleSignIn.decide(isKnown: false, isEmailVerified: isVerified, holder: nil) == .create)
            for holderVerified in [true, false] {
                for hasApple in [true, false] {
                    let holder = AppleSignIn.Holder(isEmailVerified: holderVerified, hasAppleUser: hasApple)
                    #expect(AppleSignIn.decide(isKnown: true, isEmailVerified: isVerified, holder: holder) == .signIn)
                    let isProved = isVerified && holderVerified && !hasApple
                    #expect(
                        AppleSignIn.decide(isKnown: false, isEmailVerified: isVerified, holder: holder)
                            == (isProved ? .link : .refuse)
                    )
                }
            }
        }
    }

    @Test func `Takes the first name that says something`() {
        #expect(AppleToken.name(display: nil, full: nil, given: nil, family: nil) == nil)
        #expect(AppleToken.name(display: " ", full: "", given: " Ann ", family: nil) == "Ann")
        #expect(AppleToken.name(display: nil, full: "Ann Lee", given: "x", family: "y") == "Ann Lee")
        #expect(AppleToken.name(display: "A", full: "Ann Lee", given: nil, family: nil) == "A")
        #expect(AppleToken.name(display: nil, full: String(repeating: "é", count: 99), given: nil, family: nil)?.count == 50)
    }
}

@Suite("Guests")
struct GuestPeekTests {
    @Test(arguments: 0..<50) func `Have three peeks on each date of UTC, however they are spread`(seed: Int) {
        var dice = Dice(seed)
        var now = Instant(seconds: 1_800_000_000)
        var (used, usedOn) = (0, GuestPeeks.date(now))
        var perDate: [CalendarDate: Int] = [:]
        for _ in 0..<200 {
            now = now + .minutes(Int64(dice.roll(600)))
            let left = GuestPeeks.remaining(used: used, usedOn: usedOn, now: now)
            #expect(left == 3 - (perDate[GuestPeeks.date(now)] ?? 0))
            #expect(GuestPeeks.resetAt(now) > now && GuestPeeks.resetAt(now) - now <= .hours(24))
            guard left > 0 else { continue }
            (used, usedOn) = (GuestPeeks.daily - left + 1, GuestPeeks.date(now))
            perDate[usedOn, default: 0] += 1
        }
        #expect(perDate.values.allSatisfy { $0 <= 3 })
    }
}

@Suite("A session's family, owner and thief")
struct StolenFamilyTests {
    private static let lifetime = Interval.days(60)

    /// What the store keeps of one family.
    private struct Family {
        var newest = 0
        var usedAt: [Int: Instant] = [:]
        var bornAt: [Int: Instant]
        var isRevoked = false

        init(_ now: Instant) { bornAt = [0: now] }

        /// What presenting a token gives: the generation of the next one, or nothing.
        mutating func present(_ generation: Int, _ now: Instant) -> (RefreshFamily.Decision, Int?) {
            let decision = RefreshFamily.decide(
                .init(
                    generation: generation,
                    newestGeneration: newest,
                    usedAt: usedAt[generation],
                    expiresAt: (bornAt[generation] ?? now) + StolenFamilyTests.lifetime,
                    sessionExpiresAt: (bornAt[newest] ?? now) + StolenFamilyTests.lifetime,
                    isRevoked: isRevoked
                ),
                now: now
            )
            switch decision {
            case .rotate:
                usedAt[generation] = now
                newest += 1
                bornAt[newest] = now
                return (decision, newest)
            case .repeatSuccessor:
                bornAt[newest] = now
                return (decision, newest)
            case .revokeFamily:
                isRevoked = true
                return (decision, nil)
            case .refuse: return (decision, nil)
            }
        }
    }

    @Test(arguments: 0..<200) func `An owner who only repeats what was lost is never taken for a thief`(seed: Int) {
        var dice = Dice(seed)
        var now = Instant(seconds: 1_800_000_000)
        var family = Family(now)
        var held = 0
        for _ in 0..<100 {
            now = now + .hours(Int64(dice.roll(160)))
            let token = held
            // The reply is lost up to nine times, whatever lies between them, also when several ask at once.
            var successors: Set<Int> = []
            for _ in 0...dice.roll(9) {
                let (decision, next) = family.present(token, now)
                #expect(decision == .rotate || decision == .repeatSuccessor)
                if let next { successors.insert(next) }
                now = now + .hours(Int64(dice.roll(160)))
            }
            #expect(successors == [token + 1])
            held = token + 1
        }
        #expect(!family.isRevoked)
    }

    @Test(arguments: 0..<200)
    func `When a thief has a copy, the use of a token that is two behind is noticed, and then neither goes on`(seed: Int) {
        var dice = Dice(seed)
        var now = Instant(seconds: 1_800_000_000)
        var family = Family(now)
        var held = [0, 0]
        for _ in 0..<200 {
            now = now + .seconds(Int64(11 + dice.roll(3_600)))
            let who = dice.roll(2)
            let behind = family.newest - held[who]
            let (decision, next) = family.present(held[who], now)
            if let next {
                #expect(behind <= 1, "neither is ever further ahead of the other than one use")
                held[who] = next
            } else if decision == .revokeFamily {
                #expect(behind >= 2)
            }
        }
        #expect(family.isRevoked)
        for generation in 0...family.newest { #expect(family.present(generation, now).0 == .refuse) }
    }
}
