import BillingAPI
import Kernel
import NotificationsAPI
import SocialAPI
import StreaksAPI
import TestSupport
import Testing

@testable import NotificationsCore
@testable import NotificationsLog
@testable import NotificationsPush

/// The in-app log (NO-4).
struct LogTests {
    @Test func `texts are in the language that is asked for, else of the session's device, and name the actor as now`()
        async throws
    {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2, name: "Ben"))
            try await world.request(ben, ann)
            func title(_ locale: String = "") async throws -> String? {
                var request = ListRequest()
                request.locale = locale
                return try await world.list(ann, request).notifications.first?.body
            }
            #expect(try await title() == "Ben wants to start a streak with you!")
            #expect(try await title("de") == "Ben will einen Streak mit dir beginnen!")
            try await world.device(ann, "phone", locale: "de")
            #expect(try await title() == "Ben will einen Streak mit dir beginnen!")
            try await world.person(2, name: "Benjamin", version: 2)
            #expect(try await title("en") == "Benjamin wants to start a streak with you!")
            try await world.person(2, name: "Benjamin", status: .suspended, version: 3)
            #expect(try await title("en") == "your friend wants to start a streak with you!")
        }
    }

    @Test func `the log can be filtered by kind and by what is unread, in pages`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            for number in UInt64(0)..<6 {
                world.clock.advance(by: .seconds(1))
                try await world.request(ben, ann, number)
                try await world.posted(ben, for: ann)
            }
            let all = try await world.list(ann).notifications
            #expect(all.count == 12 && all.map(\.createdAt) == all.map(\.createdAt).sorted { ($0 ?? .epoch) > ($1 ?? .epoch) })
            let read = all.prefix(5).map(\.id)
            let reply = try await world.markRead(ann, MarkReadRequest(ids: read))
            #expect(reply.marked == 5 && reply.unreadCount == 7)
            #expect(try await world.markRead(ann, MarkReadRequest(ids: read)).marked == 0)
            var request = ListRequest()
            request.type = .friendRequest
            request.unread = true
            request.limit = 2
            var found: [NotificationID] = []
            repeat {
                let page = try await world.list(ann, request)
                #expect(page.unreadCount == 7, "of all, whatever the filters")
                found += page.notifications.map(\.id)
                request.cursor = page.meta?.nextCursor ?? ""
            } while !request.cursor.isEmpty
            #expect(found == all.filter { $0.type == .friendRequest && !read.contains($0.id) }.map(\.id))
            var opened = ListRequest()
            opened.unread = false
            #expect(try await world.list(ann, opened).notifications.map(\.id) == read)
        }
    }

    @Test func `one entry is read, marked and deleted, and only by its reader`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await world.posted(ben, for: ann)
            let id = try #require(try await world.list(ann).notifications.first?.id)
            let views = EntryViews(core: world.core, social: FriendsClient(world.environment.bus))
            let get = Get(log: world.core.log, views: views)
            let delete = Delete(log: world.core.log, live: world.core.live, mutations: world.mutations)
            #expect(try await get.handle(GetRequest(notificationID: id), World.by(ann)).id == id)
            for user in [ben] {
                await #expect(throws: ServiceError.self) { try await get.handle(GetRequest(notificationID: id), World.by(user)) }
                await #expect(throws: ServiceError.self) { try await world.markRead(user, one: id) }
                await #expect(throws: ServiceError.self) {
                    try await delete.handle(DeleteRequest(notificationID: id), World.by(user))
                }
            }
            #expect(try await world.markRead(ann, one: id).unreadCount == 0)
            #expect(try await delete.handle(DeleteRequest(notificationID: id), World.by(ann)).reply.unreadCount == 0)
            await #expect(throws: ServiceError.self) { try await delete.handle(DeleteRequest(notificationID: id), World.by(ann)) }
            await #expect(throws: ServiceError.self) { try await world.markRead(ann, MarkReadRequest()) }
            await #expect(throws: ServiceError.self) { try await world.markRead(ann, MarkReadRequest(ids: [id], all: true)) }
        }
    }

    @Test func `a broken streak offers a token to whom has none, whichever event comes first`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            func balance(_ user: UserID, _ count: Int32, version: Int64) async throws {
                try await world.consume(RecoveryBalanceChanged(userID: user, version: version, balance: count))
            }
            func entry(_ user: UserID) async throws -> String? {
                let item = try await world.list(user).notifications.first { $0.type == .streakBroken }
                return item.map { "\($0.body.split(separator: ".").last ?? "") \($0.deepLink)" }
            }
            let streak = "streaksnap://streak/\(World.streak)"
            // Ann's token was earned before; Ben gets one after.
            try await balance(ann, 1, version: 5)
            try await world.consume(
                StreakBroken(
                    streakID: World.streak,
                    userAID: ann,
                    userBID: ben,
                    count: 9,
                    missedDate: Zone.utc.date(at: noon)
                )
            )
            #expect(try await entry(ann) == " Use a recovery token to save it! \(streak)")
            #expect(try await entry(ben) == " Get a recovery token to save it! streaksnap://paywall?context=streak_broken")
            try await balance(ben, 3, version: 1)
            #expect(try await entry(ben) == " Use a recovery token to save it! \(streak)")
            // She uses it; an older event that comes late changes nothing.
            try await balance(ann, 0, version: 6)
            try await balance(ann, 2, version: 4)
            #expect(try await entry(ann) == " Get a recovery token to save it! streaksnap://paywall?context=streak_broken")
        }
    }

    @Test func `a break offers a token only while one would undo it`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2, name: "Ben"))
            try await world.consume(RecoveryBalanceChanged(userID: ann, version: 1, balance: 1))
            func broken(_ number: UInt64, until: Instant?) async throws {
                try await world.consume(
                    StreakBroken(
                        streakID: StreakID(high: 5, low: number),
                        userAID: ann,
                        userBID: ben,
                        count: 9,
                        missedDate: Zone.utc.date(at: noon),
                        brokenAt: noon,
                        unrecoverable: until == nil,
                        recoverableUntil: until
                    )
                )
            }
            func entry(_ number: UInt64, of user: UserID) async throws -> String? {
                let streak = StreakID(high: 5, low: number)
                let entries = try await world.list(user).notifications
                let item = entries.first { $0.type == .streakBroken && $0.streakID == streak }
                return item.map { "\($0.body) \($0.deepLink)" }
            }
            func plain(_ number: UInt64) -> String {
                "Your 9-day streak with Ben ended. streaksnap://streak/\(StreakID(high: 5, low: number))"
            }
            // The run's one recovery was used before: who has a token is not offered to use it, who has none not to get one.
            try await broken(1, until: nil)
            #expect(try await entry(1, of: ann) == plain(1))
            #expect(try await entry(1, of: ben)?.contains("token") == false)
            // Another streak can be recovered, until one of the two has done it.
            try await broken(2, until: noon + .hours(24))
            try await broken(3, until: noon + .hours(24))
            #expect(try await entry(2, of: ann)?.contains("Use a recovery token to save it!") == true)
            try await world.consume(
                StreakRecovered(
                    streakID: StreakID(high: 5, low: 2),
                    userAID: ann,
                    userBID: ben,
                    recoveredByUserID: ben,
                    count: 9,
                    fromDate: Zone.utc.date(at: noon),
                    throughDate: Zone.utc.date(at: noon),
                    recoveredAt: noon
                )
            )
            #expect(try await entry(2, of: ann) == plain(2))
            #expect(try await entry(3, of: ann)?.contains("Use a recovery token to save it!") == true)
            // The third cannot be any more when a day has passed.
            world.clock.set(noon + .hours(24))
            #expect(try await entry(3, of: ann) == plain(3))
        }
    }

    @Test func `a push about a break that was undone while it waited does not leave`() async throws {
        // Midnight in UTC.
        try await withWorld(at: noon + .hours(12)) { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await world.device(ann, "phone")
            let date = Zone.utc.date(at: noon)
            for number in UInt64(1)...2 {
                try await world.consume(
                    StreakBroken(
                        streakID: StreakID(high: 5, low: number),
                        userAID: ann,
                        userBID: ben,
                        count: 9,
                        missedDate: date,
                        recoverableUntil: world.clock.now() + .hours(24)
                    )
                )
            }
            try await world.consume(
                StreakRestored(streakID: StreakID(high: 5, low: 1), userAID: ann, userBID: ben, count: 9, missedDate: date)
            )
            world.clock.set(noon + .hours(19))
            try await world.push()
            let pushes = try world.expo.pushes.map { "\($0.data.type) \($0.data.streak_id ?? "")" }.sorted()
            #expect(
                pushes == [
                    "streak_broken \(StreakID(high: 5, low: 2))", "streak_recovered \(StreakID(high: 5, low: 1))",
                ]
            )
            #expect(try await world.reasons() == ["useless"])
        }
    }

    @Test func `a push about a broken streak says what holds when it leaves`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            for user in [ann, ben] { try await world.device(user, "\(user == ann ? "ann" : "ben")") }
            try await world.consume(
                StreakBroken(
                    streakID: World.streak,
                    userAID: ann,
                    userBID: ben,
                    count: 9,
                    missedDate: Zone.utc.date(at: noon)
                )
            )
            try await world.consume(RecoveryBalanceChanged(userID: ann, version: 1, balance: 1))
            try await world.push()
            let links = try world.expo.pushes.map { "\($0.to) \($0.data.deep_link)" }.sorted()
            #expect(
                links == [
                    "ExponentPushToken[ann] streaksnap://streak/\(World.streak)",
                    "ExponentPushToken[ben] streaksnap://paywall?context=streak_broken",
                ]
            )
        }
    }

    @Test func `a block and its end send open apps the number of unread entries, if it changes`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await world.request(ben, ann)
            try await world.request(try await world.person(3), ann, 8)
            func events(of user: UserID) async throws -> [String] {
                try await world.database.query("SELECT data FROM live_event WHERE user_id = \(user) ORDER BY id").map {
                    try $0.decode(as: String.self)
                }
            }
            func block(_ isActive: Bool, version: Int64) -> BlockState {
                BlockState(
                    blockID: BlockID(high: 8, low: 8),
                    version: version,
                    blockerID: ann,
                    blockedID: ben,
                    active: isActive,
                    changedAt: noon
                )
            }
            let before = try await events(of: ann).count
            try await world.consume(UserBlocked(blockID: BlockID(high: 8, low: 8), block: block(true, version: 1)))
            #expect(try await events(of: ann).dropFirst(before) == [#"{"unread_count":1}"#])
            try await world.consume(UserUnblocked(blockID: BlockID(high: 8, low: 8), block: block(false, version: 2)))
            #expect(try await events(of: ann).dropFirst(before) == [#"{"unread_count":1}"#, #"{"unread_count":2}"#])
            #expect(try await events(of: ben).isEmpty, "a block is not to be noticed")
        }
    }

    @Test func `the number of unread entries is exact, however many are written, read and deleted at once`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            for number in UInt64(0)..<60 { try await world.request(ben, ann, number) }
            let ids = try await world.list(ann, ListRequest(limit: 100)).notifications.map(\.id)
            let delete = Delete(log: world.core.log, live: world.core.live, mutations: world.mutations)
            let marked = try await withThrowingTaskGroup(of: Int32.self) { tasks in
                // Each of the first 40 is marked by several at once; 10 others are deleted; 20 new ones come.
                for part in 0..<8 {
                    tasks.addTask {
                        try await world.markRead(ann, MarkReadRequest(ids: Array(ids[(part * 5)..<min(part * 5 + 10, 40)])))
                            .marked
                    }
                }
                for id in ids[40..<50] {
                    tasks.addTask {
                        _ = try await delete.handle(DeleteRequest(notificationID: id), World.by(ann))
                        return 0
                    }
                }
                for number in UInt64(100)..<120 {
                    tasks.addTask {
                        try await world.request(ben, ann, number)
                        return 0
                    }
                }
                return try await tasks.reduce(0, +)
            }
            #expect(marked == 40, "each was unread once")
            let list = try await world.list(ann, ListRequest(limit: 100))
            #expect(list.unreadCount == 30)
            #expect(list.notifications.filter { $0.readAt == nil }.count == 30)
        }
    }

    @Test func `moderators' decisions reach the user who reported`() async throws {
        try await withWorld { world in
            let (ann, ben, cat) = (try await world.person(1), try await world.person(2), try await world.person(3))
            for (action, number) in [(ModerationAction.warn, UInt64(1)), (.dismiss, 2)] {
                try await world.consume(
                    ModerationActionTaken(
                        actionID: ModerationActionID(high: 6, low: number),
                        userID: ben,
                        action: action,
                        takenAt: noon,
                        moderatorID: cat,
                        reportID: ReportID(high: 5, low: number),
                        reporterID: ann
                    )
                )
            }
            #expect(try await world.list(ben).notifications.map(\.type) == [.moderationWarning])
            let updates = try await world.list(ann).notifications
            #expect(updates.map(\.type) == [.reportUpdate, .reportUpdate] && updates.allSatisfy { $0.actorID == nil })
            #expect(Set(updates.map(\.body)).count == 2)
        }
    }

    @Test func `a decision about a post reaches all who reported it, and its author when it changes what is seen`() async throws {
        try await withWorld { world in
            var people: [UserID] = []
            for number in UInt64(1)...4 { people.append(try await world.person(number)) }
            let (author, reporters) = (people[0], Array(people.dropFirst()))
            for (action, number, restored) in [
                (ModerationAction.dismiss, UInt64(1), true), (.dismiss, 2, false), (.remove, 3, false),
            ] {
                try await world.consume(
                    ModerationActionTaken(
                        actionID: ModerationActionID(high: 6, low: number),
                        userID: author,
                        action: action,
                        takenAt: noon,
                        moderatorID: UserID(high: 9, low: 9),
                        reportID: ReportID(high: 5, low: number),
                        reporterID: reporters[0],
                        subjectType: .post,
                        subjectID: SubjectID(high: 4, low: number),
                        otherReporterIDs: Array(reporters.dropFirst()),
                        restored: restored
                    )
                )
            }
            let own = try await world.list(author).notifications
            #expect(Set(own.map(\.type)) == [.moderationWarning, .reportUpdate] && own.count == 2)
            #expect(own.contains { $0.title.contains("removed") } && own.contains { $0.title.contains("visible again") })
            for reporter in reporters {
                #expect(
                    try await world.list(reporter).notifications.map(\.type) == [.reportUpdate, .reportUpdate, .reportUpdate]
                )
            }
        }
    }
}
