import AuthDomain
import Kernel
import Testing

@Suite struct AccountLifeTests {
    private let now = Instant(seconds: 1_800_000_000)

    @Test func `a new account may be used`() {
        #expect(AccountLife().status == .active)
        #expect(AccountLife().refusal == nil)
        #expect(AccountLife().purgeAt == nil)
    }

    @Test func `a suspension says when it ends, and ends`() throws {
        var life = AccountLife()
        life.suspend(until: now + .days(7), now: now)
        #expect(life.status == .suspended)
        let refusal = try #require(life.refusal)
        #expect(refusal.reason == "ACCOUNT_SUSPENDED" && refusal.code == .permissionDenied)
        #expect(refusal.details == [.init(field: "until", message: (now + .days(7)).description)])
        life.liftSuspension(now: now + .days(7) - .seconds(1))
        #expect(life.status == .suspended)
        life.liftSuspension(now: now + .days(7))
        #expect(life == AccountLife())
    }

    @Test func `of two suspensions the later end counts, in either order`() {
        for ends in [[3, 9], [9, 3]] {
            var life = AccountLife()
            for days in ends { life.suspend(until: now + .days(Int64(days)), now: now) }
            #expect(life.suspendedUntil == now + .days(9))
        }
    }

    @Test func `a suspension that is consumed when it is over changes nothing`() {
        var life = AccountLife()
        life.suspend(until: now, now: now)
        #expect(life == AccountLife())
    }

    @Test func `a ban outlives a suspension and keeps its first instant`() {
        var life = AccountLife()
        life.suspend(until: now + .days(7), now: now)
        life.ban(at: now + .days(1))
        life.ban(at: now + .days(2))
        life.liftSuspension(now: now + .days(8))
        #expect(life.status == .banned && life.bannedAt == now + .days(1))
        #expect(life.refusal?.reason == "ACCOUNT_BANNED")
    }

    @Test func `a deleted account can be restored for 30 days, and no longer`() throws {
        var life = AccountLife()
        life.delete(at: now)
        life.delete(at: now + .days(3))
        #expect(life.purgeAt == now + .days(30), "deleting again does not prolong it")
        #expect(life.refusal?.reason == "ACCOUNT_SCHEDULED_FOR_DELETION")
        #expect(life.refusal?.details.first?.message == (now + .days(30)).description)
        var late = life
        #expect(throws: ServiceError.notFound("account")) { try late.restore(now: now + .days(30)) }
        #expect(late == life)
        try life.restore(now: now + .days(30) - .seconds(1))
        #expect(life == AccountLife())
        #expect { try life.restore(now: now) } throws: { ($0 as? ServiceError)?.reason == "ACCOUNT_NOT_DELETED" }
    }

    @Test func `deleting the account does not lift a ban or a suspension`() throws {
        var banned = AccountLife(bannedAt: now)
        banned.delete(at: now)
        #expect(banned.status == .deleted)
        try banned.restore(now: now + .days(1))
        #expect(banned.status == .banned)

        var suspended = AccountLife(suspendedUntil: now + .days(7))
        suspended.delete(at: now)
        var early = suspended
        try early.restore(now: now + .days(6))
        #expect(early.status == .suspended)
        try suspended.restore(now: now + .days(8))
        #expect(suspended.status == .active)
    }
}
