import Kernel
import SocialDomain
import Testing

@Suite("A circle (SO-10)")
struct CircleTests {
    private static let now = Instant(seconds: 1_700_000_000)
    private static func user(_ number: UInt64) -> UserID { UserID(high: 1, low: number) }

    /// Owner 1, admins 2 and 3, members 4 and 5, each a minute after the one before.
    private static var circle: CircleMembers {
        CircleMembers(
            (1...5).map { number in
                let role: CircleMembers.Role = number == 1 ? .owner : number < 4 ? .admin : .member
                return CircleMembers.Member(user: user(UInt64(number)), role: role, joinedAt: now + .minutes(Int64(number)))
            }
        )
    }

    private static func attempt(_ body: () throws(ServiceError) -> Void) -> String {
        do { try body() } catch { return error.reason }
        return "OK"
    }

    @Test func `what each role may do`() {
        let table: [(CircleMembers.Right, owner: Bool, admin: Bool, member: Bool)] = [
            (.read, true, true, true), (.leave, true, true, true), (.rename, true, true, false), (.invite, true, true, false),
            (.removeMembers, true, true, false), (.removeAdmins, true, false, false), (.changeRoles, true, false, false),
            (.transfer, true, false, false), (.delete, true, false, false),
        ]
        #expect(Set(table.map(\.0)) == Set(CircleMembers.Right.allCases))
        for (right, owner, admin, member) in table {
            for (number, allowed) in [(1, owner), (2, admin), (4, member)] {
                let outcome = Self.attempt { () throws(ServiceError) in
                    try Self.circle.require(right, of: Self.user(UInt64(number)))
                }
                #expect(outcome == (allowed ? "OK" : "NOT_ALLOWED"), "\(right) \(number)")
            }
            let stranger = Self.attempt { () throws(ServiceError) in try Self.circle.require(right, of: Self.user(9)) }
            #expect(stranger == "NOT_FOUND")
        }
    }

    @Test func `who removes whom`() {
        let table: [(actor: UInt64, user: UInt64, outcome: String)] = [
            (1, 2, "OK"), (1, 4, "OK"), (1, 1, "CANNOT_REMOVE_SELF"), (1, 9, "NOT_FOUND"), (2, 4, "OK"), (2, 3, "NOT_ALLOWED"),
            (2, 1, "NOT_ALLOWED"), (2, 2, "CANNOT_REMOVE_SELF"), (4, 5, "NOT_ALLOWED"), (4, 4, "NOT_ALLOWED"),
            (9, 4, "NOT_FOUND"),
        ]
        for entry in table {
            var circle = Self.circle
            let outcome = Self.attempt { () throws(ServiceError) in
                try circle.remove(Self.user(entry.user), by: Self.user(entry.actor))
            }
            #expect(outcome == entry.outcome, "\(entry)")
            #expect((circle[Self.user(entry.user)] == nil) == (outcome == "OK" || entry.user == 9), "\(entry)")
        }
    }

    @Test func `roles are the owner's to give, and there is one owner`() throws {
        var circle = Self.circle
        #expect(try circle.setRole(.admin, of: Self.user(4), by: Self.user(1)))
        #expect(try !circle.setRole(.admin, of: Self.user(4), by: Self.user(1)), "again")
        #expect(try circle.setRole(.member, of: Self.user(2), by: Self.user(1)))
        for (role, user, actor, reason) in [
            (CircleMembers.Role.owner, 4, 1, "VALIDATION_ERROR"), (.admin, 5, 3, "NOT_ALLOWED"),
            (.member, 1, 1, "OWNER_KEEPS_ROLE"),
            (.admin, 9, 1, "NOT_FOUND"),
        ] as [(CircleMembers.Role, UInt64, UInt64, String)] {
            let outcome = Self.attempt { () throws(ServiceError) in
                _ = try circle.setRole(role, of: Self.user(user), by: Self.user(actor))
            }
            #expect(outcome == reason)
        }
        try circle.transfer(to: Self.user(5), by: Self.user(1))
        #expect(circle.owner == Self.user(5))
        #expect(circle[Self.user(1)]?.role == .admin)
        #expect(circle.all.count { $0.role == .owner } == 1)
        for (to, actor, reason) in [(5, 5, "CANNOT_TRANSFER_TO_SELF"), (9, 5, "NOT_FOUND"), (4, 1, "NOT_ALLOWED")]
            as [(UInt64, UInt64, String)]
        {
            let outcome = Self.attempt { () throws(ServiceError) in
                try circle.transfer(to: Self.user(to), by: Self.user(actor))
            }
            #expect(outcome == reason)
        }
    }

    @Test func `ownership passes to the oldest admin, else the oldest member, and to a shut account last`() throws {
        var circle = Self.circle
        #expect(try circle.leave(Self.user(5)) == nil)
        #expect(try circle.leave(Self.user(1)) == Self.user(2))
        #expect(try circle.leave(Self.user(2), unavailable: [Self.user(3)]) == Self.user(4))
        #expect(circle.owner == Self.user(4))
        #expect(try circle.leave(Self.user(4), unavailable: [Self.user(3)]) == Self.user(3))
        #expect(try circle.leave(Self.user(3)) == nil)
        #expect(circle.all.isEmpty)
        let outcome = Self.attempt { () throws(ServiceError) in _ = try circle.leave(Self.user(3)) }
        #expect(outcome == "NOT_FOUND")
    }

    @Test func `the 51st does not come in, and no one twice`() throws {
        var circle = CircleMembers(owner: Self.user(1), now: Self.now)
        for number in 2...UInt64(CircleMembers.limit) { #expect(try circle.join(Self.user(number), now: Self.now)) }
        #expect(try !circle.join(Self.user(7), now: Self.now))
        let outcome = Self.attempt { () throws(ServiceError) in _ = try circle.join(Self.user(99), now: Self.now) }
        #expect(outcome == "CIRCLE_FULL")
        #expect(circle.all.count == 50)
        // A replica whose clock is behind does not make a newcomer the oldest.
        _ = try circle.leave(Self.user(50))
        _ = try circle.join(Self.user(99), now: Self.now - .days(1))
        #expect(circle[Self.user(99)]?.joinedAt == Self.now)
    }

    @Test func `an invite is used up, over or revoked`() throws {
        func invite(uses: Int32 = 0, isRevoked: Bool = false) -> CircleInvite {
            CircleInvite(code: "K7QM4XZ9V2", maxUses: 2, uses: uses, expiresAt: Self.now + .hours(1), isRevoked: isRevoked)
        }
        var twice = invite()
        try twice.use(at: Self.now)
        try twice.use(at: Self.now)
        #expect(twice.uses == 2)
        #expect(Self.attempt { () throws(ServiceError) in try twice.use(at: Self.now) } == "INVITE_NOT_VALID")
        #expect(!invite(isRevoked: true).isValid(at: Self.now))
        #expect(invite().isValid(at: Self.now + .hours(1) - .seconds(1)))
        #expect(!invite().isValid(at: Self.now + .hours(1)))
    }

    @Test func `codes are read as people type them`() {
        #expect(InviteCode.normalized("k7qm-4xz9 v2") == "K7QM4XZ9V2")
        #expect(InviteCode.normalized("olio000000") == "0110000000")
        for wrong in ["", "K7QM4XZ9V", "K7QM4XZ9V22", "K7QM4XZ9V!", "K7QM4XZ9VÄ", "K7QM4XZ9VU", "ß7QM4XZ9V2"] {
            #expect(InviteCode.normalized(wrong) == nil, "\(wrong)")
        }
        var codes: Set<String> = []
        for bits in 0..<UInt64(2_000) {
            let code = InviteCode.make(from: bits &* 0x9E37_79B9_7F4A_7C15)
            #expect(InviteCode.normalized(code) == code)
            codes.insert(code)
        }
        #expect(codes.count == 2_000)
    }

    @Test func `names and descriptions`() throws {
        #expect(try CircleTexts.name("  Läufer 🏃‍♀️ \n") == "Läufer 🏃‍♀️")
        #expect(try CircleTexts.description(" ") == nil)
        #expect(try CircleTexts.description("one\ntwo") == "one\ntwo")
        for wrong in ["", "   ", "\u{200D}", "a\nb", "a\u{202E}b", "a\u{7}b"] {
            let outcome = Self.attempt { () throws(ServiceError) in _ = try CircleTexts.name(wrong) }
            #expect(outcome == "VALIDATION_ERROR", "\(wrong.unicodeScalars.map(\.value))")
        }
    }
}
