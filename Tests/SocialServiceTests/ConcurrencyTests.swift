import Kernel
import SocialAPI
import SocialDomain
import Testing

@testable import SocialFriends

@Suite("Two people at once", .timeLimit(.minutes(4)))
struct ConcurrencyTests {
    @Test func `who ask each other 64 times become friends once`() async throws {
        try await withWorld { world in
            let (ann, ben) = (world.person(1), world.person(2))
            let outcomes = try await atOnce(64) { index in
                _ = index % 2 == 0 ? try await world.request(ann, ben) : try await world.request(ben, ann)
            }
            #expect(outcomes["OK"] == 2)
            #expect(Set(outcomes.keys).isSubset(of: ["OK", "FRIEND_REQUEST_EXISTS", "ALREADY_FRIENDS"]), "\(outcomes)")
            #expect(try await world.state(ann, ben) == .accepted)
            #expect(try await world.events() == ["FriendRequestSent", "FriendshipAccepted"])
            #expect(try await world.database.query("SELECT 1 FROM friendship").count == 1)
        }
    }

    @Test func `accepting 64 times is one acceptance`() async throws {
        try await withWorld { world in
            let (ann, ben) = (world.person(1), world.person(2))
            let id = try await world.request(ann, ben).friendshipID
            let outcomes = try await atOnce(64) { _ in _ = try await world.respond(ben, id, .accept) }
            #expect(outcomes == ["OK": 64])
            #expect(try await world.events() == ["FriendRequestSent", "FriendshipAccepted"])
        }
    }

    @Test func `accepting and withdrawing agree on one of the two`() async throws {
        try await withWorld { world in
            let (ann, ben) = (world.person(1), world.person(2))
            for round in 0..<30 {
                world.clock.advance(by: .hours(2))
                let id = try await world.request(ann, ben).friendshipID
                let outcomes = try await atOnce(8) { index in
                    _ = try await index % 2 == round % 2 ? world.respond(ben, id, .accept) : world.respond(ann, id, .decline)
                }
                let state = try await world.state(ann, ben)
                #expect(outcomes == ["OK": 4, "NOT_FOUND": 4], "\(state)")
                let events = try await world.events()
                if state == .accepted {
                    #expect(events == ["FriendRequestSent", "FriendshipAccepted"])
                    _ = try await world.remove(ann, id)
                    #expect(try await world.events() == ["FriendshipEnded"])
                } else {
                    #expect(state == .withdrawn)
                    #expect(events == ["FriendRequestSent"])
                }
            }
        }
    }

    @Test func `removing against accepting leaves no friendship`() async throws {
        try await withWorld { world in
            let (ann, ben) = (world.person(1), world.person(2))
            for round in 0..<20 {
                world.clock.advance(by: .hours(2))
                let id = try await world.request(ann, ben).friendshipID
                _ = try await atOnce(8) { index in
                    if index % 2 == round % 2 {
                        _ = try await world.respond(ben, id, .accept)
                    } else {
                        _ = try await world.remove(ann, id)
                    }
                }
                let events = try await world.events()
                switch try await world.state(ann, ben) {
                case .withdrawn: #expect(events == ["FriendRequestSent"])
                case .ended: #expect(events == ["FriendRequestSent", "FriendshipAccepted", "FriendshipEnded"])
                case let state: Issue.record("\(state) after \(events)")
                }
            }
        }
    }

    @Test func `a block wins against an acceptance, whichever comes first`() async throws {
        try await withWorld { world in
            for round in 0..<20 {
                let (ann, ben) = (world.person(UInt64(2 * round)), world.person(UInt64(2 * round + 1)))
                let id = try await world.request(ann, ben).friendshipID
                let outcomes = try await atOnce(8) { index in
                    if index % 2 == round % 2 {
                        _ = try await world.respond(ben, id, .accept)
                    } else {
                        _ = try await world.block(index < 4 ? ann : ben, index < 4 ? ben : ann)
                    }
                }
                #expect(Set(outcomes.keys).isSubset(of: ["OK", "NOT_FOUND"]))
                #expect(try await world.state(ann, ben) == .ended)
                let events = try await world.events()
                let outcome = events.filter { $0 != "UserBlocked" }
                // The later of the two finds no one to block.
                #expect(events.filter { $0 == "UserBlocked" } == ["UserBlocked"])
                #expect(
                    [["FriendRequestSent"], ["FriendRequestSent", "FriendshipAccepted", "FriendshipEnded"]].contains(outcome)
                )
            }
        }
    }

    @Test func `no request stands beside a block`() async throws {
        try await withWorld { world in
            for round in 0..<20 {
                let (ann, ben) = (world.person(UInt64(2 * round)), world.person(UInt64(2 * round + 1)))
                let outcomes = try await atOnce(8) { index in
                    if index % 4 == round % 4 {
                        _ = try await world.block(ben, ann)
                    } else {
                        _ = try await index % 2 == 0 ? world.request(ann, ben) : world.request(ben, ann)
                    }
                }
                #expect(Set(outcomes.keys).isSubset(of: ["OK", "NOT_FOUND", "FRIEND_REQUEST_EXISTS", "ALREADY_FRIENDS"]))
                let state = try await world.state(ann, ben)
                #expect(state != .pending && state != .accepted)
            }
        }
    }

    @Test func `20 requests an hour get through, however many are sent at once, and withdrawing frees none`() async throws {
        try await withWorld { world in
            let ann = world.person(0)
            let people = (1...64).map { world.person(UInt64($0)) }
            let outcomes1 = try await atOnce(64) { _ = try await world.request(ann, people[$0]) }
            #expect(outcomes1 == ["OK": 20, "TOO_MANY_FRIEND_REQUESTS": 44])
            for row in try await world.service.friendships.list(of: ann, state: .pending, before: nil, limit: 100) {
                _ = try await world.remove(ann, row.id)
            }
            let refused = await #expect(throws: ServiceError.self) { try await world.request(ann, people[0]) }
            #expect(refused?.reason == "TOO_MANY_FRIEND_REQUESTS" && refused?.retryAfter == 3_601)
            world.clock.advance(by: .hours(1))
            #expect(try await world.request(ann, people[0]).status == .pending)
            #expect(try await world.service.requests.deleteSent(before: world.clock.now() - .minutes(1)) == 20)
        }
    }

    @Test func `100 requests may be pending, and one that is answered makes room`() async throws {
        try await withWorld { world in
            let ann = world.person(0)
            let people = (1...130).map { world.person(UInt64($0)) }
            for hour in 0..<5 {
                let outcomes = try await atOnce(20) { _ = try await world.request(ann, people[20 * hour + $0]) }
                #expect(outcomes == ["OK": 20])
                world.clock.advance(by: .hours(1))
            }
            let outcomes2 = try await atOnce(10) { _ = try await world.request(ann, people[100 + $0]) }
            #expect(outcomes2 == ["TOO_MANY_PENDING_REQUESTS": 10])
            let pending = try #require(try await world.service.friendships.find(ann, people[0], world.database))
            _ = try await world.respond(people[0], pending.id, .decline)
            let last = try await atOnce(10) { _ = try await world.request(ann, people[110 + $0]) }
            #expect(last == ["OK": 1, "TOO_MANY_PENDING_REQUESTS": 9])
        }
    }

    @Test func `nudging 64 times is one nudge, and 4 hours later another`() async throws {
        try await withWorld { world in
            let (ann, ben) = (world.person(1), world.person(2))
            try await world.befriend(ann, ben)
            @Sendable func nudge() async throws {
                _ = try await world.service.nudge(NudgeRequest(friendID: ben), context: World.by(ann))
            }
            let outcomes3 = try await atOnce(64) { _ in try await nudge() }
            #expect(outcomes3 == ["OK": 1, "NUDGED_RECENTLY": 63])
            #expect(try await world.events() == ["FriendNudged"])
            world.clock.advance(by: NudgeRule.wait)
            try await nudge()
            world.others.state.withLock { $0.friendHasPosted = true }
            world.clock.advance(by: NudgeRule.wait)
            let outcomes4 = try await atOnce(1) { _ in try await nudge() }
            #expect(outcomes4 == ["FRIEND_ALREADY_POSTED": 1])
            world.others.state.withLock { $0.friendHasPosted = nil }
            let outcomes5 = try await atOnce(1) { _ in try await nudge() }
            #expect(outcomes5 == ["STREAK_NOT_ACTIVE": 1])
        }
    }

    @Test func `64 reports of one person by one are one; each of 16 reporters counts; moderators act once`() async throws {
        try await withWorld { world in
            let bad = world.person(0)
            let people = (1...16).map { world.person(UInt64($0)) }
            @Sendable func report(_ user: UserID) async throws {
                _ = try await world.service.report(
                    ReportRequest(subjectType: .user, subjectID: bad.cast(to: Tag.Subject.self), reason: .spam),
                    context: World.by(user)
                )
            }
            let outcomes6 = try await atOnce(64) { _ in try await report(people[0]) }
            #expect(outcomes6 == ["OK": 1, "ALREADY_REPORTED": 63])
            let outcomes7 = try await atOnce(15) { try await report(people[$0 + 1]) }
            #expect(outcomes7 == ["OK": 15])
            #expect(try await world.events() == Array(repeating: "ReportFiled", count: 16))
            let listed = try await world.service.listReports(ListReportsRequest(), context: World.by(people[0], role: .admin))
                .reports
            #expect(listed.map(\.reporters).sorted() == (1...16).map { Int32($0) })
            let acted = try await atOnce(64) { index in
                let action: ModerationAction = index % 2 == 0 ? .suspend : .ban
                _ = try await world.service.actionReport(
                    ActionReportRequest(reportID: listed[0].reportID, action: action),
                    context: World.by(people[1], role: .admin)
                )
            }
            #expect(acted == ["OK": 1, "ALREADY_ACTIONED": 63])
            let shown = Array(repeating: "SocialAdminActed", count: 16)
            #expect(try await world.events() == shown + ["ModerationActionTaken"])
        }
    }

    @Test func `blocking 64 times is one block; its end and its return go on with its id and version`() async throws {
        try await withWorld { world in
            let (ann, ben) = (world.person(1), world.person(2))
            try await world.befriend(ann, ben)
            let outcomes8 = try await atOnce(64) { _ in _ = try await world.block(ann, ben) }
            #expect(outcomes8 == ["OK": 64])
            #expect(try await world.events() == ["FriendshipEnded", "UserBlocked"])
            let block = try await world.block(ann, ben).blockID
            let unblocked = try await atOnce(16) { _ in
                _ = try await world.service.unblockUser(UnblockUserRequest(blockID: block), context: World.by(ann))
            }
            #expect(unblocked == ["OK": 16])
            #expect(try await world.block(ann, ben).blockID == block)
            #expect(try await world.events() == ["UserUnblocked", "UserBlocked"])
            let snapshot = try await world.service.listBlockSnapshots(ListBlockSnapshotsRequest(), context: World.by(ann)).blocks
            #expect(snapshot.map(\.version) == [3] && snapshot.map(\.active) == [true])
            #expect(try await world.state(ann, ben) == .ended, "unblocking restores nothing")
        }
    }
}
