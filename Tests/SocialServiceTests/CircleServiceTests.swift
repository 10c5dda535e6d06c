import AuthAPI
import Bus
import Database
import Kernel
import Outbox
import SocialAPI
import SocialDomain
import Testing

@testable import ServiceRuntime
@testable import SocialCircles
@testable import SocialCore
@testable import SocialService

@Suite("Circles", .timeLimit(.minutes(4)))
struct CircleServiceTests {
    @Test func `an invite is sent to friends who are not in the circle, and to no one else`() async throws {
        try await withWorld { world in
            let circles = Circles(world)
            let (ann, ben, cem, eve) = (world.person(1), world.person(2), world.person(3), world.person(4))
            for friend in [ben, cem] { try await world.befriend(ann, friend) }
            let made = try await circles.create(ann)
            try await circles.join(cem, try #require(made.invite?.code))
            let invite = try await circles.invite(made.circleID, by: ann, to: [ben, cem, ben])
            let sent = try await world.database.query(
                "SELECT body FROM outbox WHERE subject = \(CircleInvitationSent.subject)"
            ).map { try CircleInvitationSent(serialized: try $0.decode(as: [UInt8].self)) }
            #expect(sent.map(\.toUserID) == [ben] && sent.map(\.fromUserID) == [ann])
            #expect(sent.map(\.code) == [invite.code] && sent.map(\.expiresAt) == [invite.expiresAt])
            #expect(sent.map(\.circleName) == ["Runners"])
            let before = try await circles.invites(made.circleID, ann).count
            let refused = try await reason { _ = try await circles.invite(made.circleID, by: ann, to: [ben, eve]) }
            #expect(refused == "NOT_FRIENDS")
            #expect(try await circles.invites(made.circleID, ann).count == before, "nothing of it has happened")
        }
    }

    @Test func `every bad text of a circle is named`() async throws {
        try await withWorld { world in
            let circles = Circles(world)
            let made = try await circles.create(world.person(1))
            let error = await #expect(throws: ServiceError.self) {
                try await circles.update(made.circleID, by: world.person(1), name: " ", description: "a\u{7}")
            }
            #expect(error?.details.map(\.field) == ["name", "description"])
            let cleared = try await circles.update(made.circleID, by: world.person(1), description: " ")
            #expect(cleared.name == "Runners" && cleared.description == nil)
        }
    }

    @Test func `a circle's life, and what other services learn of it`() async throws {
        try await withWorld { world in
            let circles = Circles(world)
            let (ann, ben, cem) = (world.person(1), world.person(2), world.person(3))
            let made = try await circles.create(ann, "  Runners ")
            let code = try #require(made.invite?.code)
            #expect(made.name == "Runners")
            #expect(made.yourRole == .owner)
            #expect(made.invite?.link == "https://streaksnap.example/c/\(code)")
            world.clock.advance(by: .minutes(1))
            let joined = try await circles.join(ben, code.lowercased())
            #expect(joined.memberCount == 2)
            #expect(joined.invite == nil, "a member cannot invite")
            #expect(try await circles.join(ben, code).memberCount == 2, "again")
            world.clock.advance(by: .minutes(1))
            try await circles.join(cem, code)
            #expect(try await circles.invites(made.circleID, ann).map(\.uses) == [2])
            try await circles.setRole(.admin, of: cem, by: ann, made.circleID)
            try await circles.setRole(.admin, of: cem, by: ann, made.circleID)
            #expect(try await circles.update(made.circleID, by: cem, name: "Swimmers").name == "Swimmers")
            #expect(try await circles.update(made.circleID, by: cem, description: "").description == nil)
            _ = try await circles.update(made.circleID, by: cem, name: "Swimmers")
            #expect(try await circles.leave(ann, made.circleID).deleted == false)
            #expect(try await circles.get(made.circleID, cem).yourRole == .owner)
            let events = try await circles.events()
            #expect(
                events.map(\.change) == [
                    .created, .memberJoined, .memberJoined, .roleChanged, .updated, .updated, .memberLeft,
                ]
            )
            #expect(events.compactMap(\.circle?.version) == Array(1...7))
            #expect(events.last?.circle?.members.map(\.userID) == [ben, cem])
            #expect(events.last?.circle?.members.map(\.role) == [.member, .owner])
            #expect(try await circles.snapshot() == [try #require(events.last?.circle)])
            try await circles.delete(made.circleID, by: cem)
            let end = try #require(try await circles.events().last?.circle)
            #expect(end.deleted && end.name.isEmpty && end.members.isEmpty && end.version == 8)
            #expect(try await circles.snapshot() == [end])
            #expect(try await reason { _ = try await circles.get(made.circleID, cem) } == "NOT_FOUND")
            #expect(try await reason { try await circles.join(ann, code) } == "INVITE_NOT_VALID")
            #expect(try await circles.list(ben).circles.isEmpty)
        }
    }

    @Test func `to strangers the reply is that there is no circle`() async throws {
        try await withWorld { world in
            let circles = Circles(world)
            let (ann, ben) = (world.person(1), world.person(2))
            let id = try await circles.create(ann).circleID
            let attempts: [() async throws -> Void] = [
                { _ = try await circles.get(id, ben) }, { _ = try await circles.update(id, by: ben, name: "Mine") },
                { try await circles.delete(id, by: ben) }, { _ = try await circles.leave(ben, id) },
                { _ = try await circles.members(id, ben) }, { try await circles.remove(ann, by: ben, id) },
                { try await circles.setRole(.admin, of: ben, by: ben, id) },
                { _ = try await circles.transfer(to: ben, by: ben, id) },
                { _ = try await circles.invite(id, by: ben) }, { _ = try await circles.invites(id, ben) },
                { _ = try await circles.revoke(id, by: ben) },
            ]
            for attempt in attempts { #expect(try await reason(attempt) == "NOT_FOUND") }
            #expect(try await circles.events().count == 1)
        }
    }

    @Test func `64 people at the last place, and one comes in`() async throws {
        try await withWorld { world in
            let circles = Circles(world)
            let people = (1...113).map { world.person($0) }
            let made = try await circles.create(people[0])
            let first = try #require(made.invite?.code)
            for user in people[1..<49] { try await circles.join(user, first) }
            let second = try await circles.invite(made.circleID, by: people[0]).code
            let outcomes = try await atOnce(64) { index in try await circles.join(people[49 + index], second) }
            #expect(outcomes == ["OK": 1, "CIRCLE_FULL": 63])
            #expect(try await circles.get(made.circleID, people[0]).memberCount == 50)
            #expect(try await circles.invites(made.circleID, people[0]).first { $0.code == second }?.uses == 1)
            #expect(try await circles.events().last?.circle?.members.count == 50)
        }
    }

    @Test func `who joins at the 50th place twice is in once, however many others come`() async throws {
        try await withWorld { world in
            let circles = Circles(world)
            let people = (1...60).map { world.person($0) }
            let made = try await circles.create(people[0])
            let code = try #require(made.invite?.code)
            for user in people[1..<48] { try await circles.join(user, code) }
            // Two places: one for each of two users with eight devices, none for a third.
            let outcomes = try await atOnce(16) { index in try await circles.join(people[48 + index % 2], code) }
            #expect(outcomes == ["OK": 16])
            #expect(try await circles.get(made.circleID, people[0]).memberCount == 50)
            #expect(try await circles.events().compactMap(\.userID).suffix(2).sorted() == [people[48], people[49]].sorted())
            #expect(try await reason { try await circles.join(people[50], code) } == "CIRCLE_FULL")
            // The last place: one user's two devices against another's.
            _ = try await circles.leave(people[49], made.circleID)
            let second = try await circles.invite(made.circleID, by: people[0]).code
            _ = try await circles.events()
            let last = try await atOnce(16) { index in try await circles.join(people[51 + index % 2], second) }
            #expect(last == ["OK": 8, "CIRCLE_FULL": 8])
            #expect(try await circles.events().map(\.change) == [.memberJoined])
            #expect(try await circles.get(made.circleID, people[0]).memberCount == 50)
        }
    }

    @Test func `an invite of one use lets one in, and no user joins a 21st circle`() async throws {
        try await withWorld { world in
            let circles = Circles(world)
            let owner = world.person(1)
            let made = try await circles.create(owner)
            let once = try await circles.invite(made.circleID, by: owner, uses: 1).code
            let people = (2...17).map { world.person($0) }
            let outcomes = try await atOnce(16) { index in try await circles.join(people[index], once) }
            #expect(outcomes == ["OK": 1, "INVITE_NOT_VALID": 15])
            // 18 circles of their own, and eight more at once.
            let busy = world.person(99)
            for number in 0..<18 { _ = try await circles.create(busy, "Circle \(number)") }
            var codes: [String] = []
            for number in 20..<28 {
                codes.append(try #require(try await circles.create(world.person(UInt64(number))).invite?.code))
            }
            let ready = codes
            let joins = try await atOnce(8) { index in try await circles.join(busy, ready[index]) }
            #expect(joins == ["OK": 2, "TOO_MANY_CIRCLES": 6])
            #expect(try await reason { _ = try await circles.create(busy) } == "TOO_MANY_CIRCLES")
            #expect(try await circles.list(busy, limit: 50).circles.count == 20)
            let page = try await circles.list(busy, limit: 15)
            let rest = try await circles.list(busy, limit: 15, cursor: try #require(page.meta?.nextCursor))
            #expect(Set((page.circles + rest.circles).map(\.circleID)).count == 20)
            #expect(rest.meta?.nextCursor == nil)
        }
    }

    @Test func `no user makes or joins more than 100 circles a day, and a circle keeps 100 invites`() async throws {
        try await withWorld { world in
            let circles = Circles(world)
            let (ann, ben) = (world.person(1), world.person(2))
            let made = try await circles.create(ann)
            let code = try #require(made.invite?.code)
            try await circles.join(ben, code)
            try await world.database.execute("UPDATE circle_entry SET entries = 99 WHERE user_id = \(ben)")
            _ = try await circles.create(ben)
            #expect(try await reason { _ = try await circles.create(ben) } == "RATE_LIMITED")
            // Who is in it needs no room.
            try await circles.join(ben, code)
            world.clock.advance(by: .days(1))
            _ = try await circles.create(ben)
            for _ in 0..<110 { _ = try await circles.invite(made.circleID, by: ann, replace: true) }
            let stored = try await world.database.query("SELECT 1 FROM circle_invite WHERE circle_id = \(made.circleID)").count
            #expect(stored <= 100, "\(stored)")
            #expect(try await circles.invites(made.circleID, ann).count == 1)
        }
    }

    @Test func `invites are made, replaced, counted, revoked and shown`() async throws {
        try await withWorld { world in
            let circles = Circles(world)
            let (ann, ben, cem) = (world.person(1), world.person(2), world.person(3))
            let made = try await circles.create(ann, "<Runners> & co")
            let first = try #require(made.invite)
            try await circles.join(ben, first.code)
            #expect(try await reason { _ = try await circles.invite(made.circleID, by: ben) } == "NOT_ALLOWED")
            for _ in 0..<9 { _ = try await circles.invite(made.circleID, by: ann) }
            #expect(try await reason { _ = try await circles.invite(made.circleID, by: ann) } == "TOO_MANY_INVITES")
            let only = try await circles.invite(made.circleID, by: ann, hours: 1, replace: true)
            #expect(try await circles.invites(made.circleID, ann).map(\.inviteID) == [only.inviteID])
            #expect(try await reason { try await circles.join(cem, first.code) } == "INVITE_NOT_VALID")
            let page = try await circles.page(only.code.lowercased())
            #expect(page.status == 200)
            #expect(page.html.contains("&lt;Runners&gt; &amp; co") && page.html.contains(only.code))
            #expect(try await circles.page(only.code, "de-AT").html.contains("<html lang=\"de\">"))
            for wrong in ["", "x", "0000000000", first.code] {
                let nothing = try await circles.page(wrong)
                #expect(nothing.status == 404)
                #expect(!nothing.html.contains("Runners"))
            }
            world.clock.advance(by: .hours(1))
            #expect(try await circles.page(only.code).status == 404)
            #expect(try await circles.invites(made.circleID, ann).isEmpty)
            let last = try await circles.invite(made.circleID, by: ann)
            #expect(try await circles.revoke(made.circleID, by: ann, last.inviteID) == 1)
            #expect(try await circles.revoke(made.circleID, by: ann, last.inviteID) == 0)
            #expect(try await circles.revoke(made.circleID, by: ann) == 0)
            let none: CircleInviteID = CircleInviteID(high: 9, low: 9)
            #expect(try await reason { _ = try await circles.revoke(made.circleID, by: ann, none) } == "NOT_FOUND")
            #expect(try await reason { try await circles.join(cem, last.code) } == "INVITE_NOT_VALID")
        }
    }

    @Test func `blocked people do not see each other, and stay members`() async throws {
        try await withWorld { world in
            let circles = Circles(world)
            let (ann, ben, cem) = (world.person(1), world.person(2), world.person(3))
            let shut = world.person(4, status: .suspended)
            let made = try await circles.create(ann)
            let code = try #require(made.invite?.code)
            for user in [ben, cem, shut] {
                world.clock.advance(by: .minutes(1))
                try await circles.join(user, code)
            }
            _ = try await world.block(ben, ann)
            func seen(_ user: UserID) async throws -> [UserID] {
                try await circles.members(made.circleID, user).members.compactMap(\.user?.userID)
            }
            #expect(try await seen(ann) == [ann, cem])
            #expect(try await seen(ben) == [ben, cem])
            #expect(try await seen(cem) == [ann, ben, cem])
            #expect(try await circles.get(made.circleID, ann).memberCount == 4)
            let first = try await circles.members(made.circleID, cem, limit: 2)
            #expect(first.members.compactMap(\.user?.userID) == [ann, ben])
            let rest = try await circles.members(made.circleID, cem, limit: 2, cursor: try #require(first.meta?.nextCursor))
            #expect(rest.members.compactMap(\.user?.userID) == [cem])
        }
    }

    @Test func `who was removed comes back by no invite of then, only by a later one`() async throws {
        try await withWorld { world in
            let circles = Circles(world)
            let (ann, ben, cem) = (world.person(1), world.person(2), world.person(3))
            let made = try await circles.create(ann)
            let (id, code) = (made.circleID, try #require(made.invite?.code))
            for user in [ben, cem] { try await circles.join(user, code) }
            world.clock.advance(by: .minutes(1))
            try await circles.remove(ben, by: ann, id)
            #expect(try await reason { try await circles.join(ben, code) } == "INVITE_NOT_VALID")
            #expect(try await reason { _ = try await circles.preview(code, ben) } == "INVITE_NOT_VALID")
            #expect(try await circles.get(id, ann).memberCount == 2)
            // Who leaves may come back, and who never was in it may join.
            _ = try await circles.leave(cem, id)
            for user in [cem, world.person(4)] { try await circles.join(user, code) }
            world.clock.advance(by: .minutes(1))
            let later = try await circles.invite(id, by: ann).code
            #expect(try await circles.preview(later, ben).joined == false)
            #expect(try await circles.join(ben, later).memberCount == 4)
            #expect(try await circles.join(ben, code).memberCount == 4, "a member is in, by whatever code")
            // Not longer than an invite can live.
            #expect(try await circles.views.invites.deleteRemovals(before: world.clock.now() - .minutes(2)) == 0)
            #expect(try await circles.views.invites.deleteRemovals(before: world.clock.now()) == 1)
        }
    }

    @Test func `no invite leads into the circle of an owner whom one blocks, or who blocks one`() async throws {
        try await withWorld { world in
            let circles = Circles(world)
            let (ann, ben, cem, dan) = (world.person(1), world.person(2), world.person(3), world.person(4))
            let code = try #require(try await circles.create(ann).invite?.code)
            _ = try await world.block(ann, ben)
            _ = try await world.block(cem, ann)
            for user in [ben, cem] {
                #expect(try await reason { try await circles.join(user, code) } == "INVITE_NOT_VALID")
                #expect(try await reason { _ = try await circles.preview(code, user) } == "INVITE_NOT_VALID")
            }
            // Blocks between members keep no one out (SO-7).
            try await circles.join(dan, code)
            let eve = world.person(5)
            _ = try await world.block(dan, eve)
            #expect(try await circles.join(eve, code).memberCount == 3)
        }
    }

    @Test func `to an admin whom a member blocks the member is a stranger, and to one who blocks a member that member is not`()
        async throws
    {
        try await withWorld { world in
            let circles = Circles(world)
            let (ann, ben, cem, stranger) = (world.person(1), world.person(2), world.person(3), world.person(4))
            let made = try await circles.create(ann)
            let (id, code) = (made.circleID, try #require(made.invite?.code))
            for user in [ben, cem] { try await circles.join(user, code) }
            _ = try await world.block(ben, ann)
            func refusals(_ user: UserID) async throws -> [ServiceError?] {
                var found: [ServiceError?] = []
                for attempt in [
                    { try await circles.remove(user, by: ann, id) }, { try await circles.setRole(.admin, of: user, by: ann, id) },
                    { _ = try await circles.transfer(to: user, by: ann, id) },
                ] {
                    do {
                        try await attempt()
                        found.append(nil)
                    } catch { found.append(error as? ServiceError) }
                }
                return found
            }
            #expect(try await refusals(ben) == refusals(stranger))
            #expect(try await refusals(ben).map(\.?.reason) == ["NOT_FOUND", "NOT_FOUND", "NOT_FOUND"])
            #expect(try await circles.get(id, ben).memberCount == 3)
            _ = try await world.block(ann, cem)
            try await circles.remove(cem, by: ann, id)
            #expect(try await circles.get(id, ben).memberCount == 2)
        }
    }

    @Test func `an account that is gone leaves every circle, and its circles have owners`() async throws {
        try await withWorld { world in
            let circles = Circles(world)
            let (ann, ben, cem) = (world.person(1), world.person(2), world.person(3))
            let alone = try await circles.create(ann, "Alone").circleID
            let made = try await circles.create(ann)
            let code = try #require(made.invite?.code)
            for user in [ben, cem] {
                world.clock.advance(by: .minutes(1))
                try await circles.join(user, code)
            }
            try await circles.setRole(.admin, of: cem, by: ann, made.circleID)
            #expect(try await circles.transfer(to: cem, by: ann, made.circleID).yourRole == .admin)
            #expect(try await circles.transfer(to: cem, by: ann, made.circleID).yourRole == .admin, "again")
            _ = try await circles.events()
            try await circles.goneForGood(cem)
            try await circles.goneForGood(cem)
            #expect(try await circles.get(made.circleID, ann).yourRole == .owner)
            try await circles.goneForGood(ann)
            #expect(try await circles.get(made.circleID, ben).yourRole == .owner)
            #expect(try await circles.get(made.circleID, ben).memberCount == 1)
            let events = try await circles.events()
            #expect(events.map(\.change) == [.memberLeft, .memberLeft, .memberLeft])
            #expect(events.filter { $0.circle?.deleted == true }.map(\.circleID) == [alone])
            #expect(try await circles.leave(ben, made.circleID).deleted)
        }
    }

    @Test func `leaving and transferring at once leave one owner`() async throws {
        try await withWorld { world in
            let circles = Circles(world)
            let people = (1...8).map { world.person($0) }
            let made = try await circles.create(people[0])
            let code = try #require(made.invite?.code)
            for user in people.dropFirst() { try await circles.join(user, code) }
            _ = try await atOnce(8) { index in
                switch index % 4 {
                case 0: _ = try await circles.leave(people[index], made.circleID)
                case 1: try await circles.remove(people[index], by: people[0], made.circleID)
                case 2: _ = try await circles.transfer(to: people[index], by: people[0], made.circleID)
                default: try await circles.setRole(.admin, of: people[index], by: people[0], made.circleID)
                }
            }
            let state = try #require(try await circles.snapshot().first)
            #expect(state.members.count { $0.role == .owner } == 1)
            #expect(state.members.count == Set(state.members.map(\.userID)).count)
            // Each version was emitted once, in order.
            #expect(try await circles.events().compactMap(\.circle?.version) == Array(1...state.version))
        }
    }
}
