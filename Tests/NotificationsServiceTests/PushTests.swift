import Kernel
import NotificationsAPI
import NotificationsDomain
import SocialAPI
import StreaksAPI
import TestSupport
import Testing

@testable import NotificationsCore
@testable import NotificationsPush

/// What is pushed, to which device, when, and what is not (NO-2, NO-3, NO-5, NO-6).
struct PushTests {
    @Test func `each device gets a push in its language, with badge, link, channel and what replaces it`() async throws {
        try await withWorld(settings: ["notifications.push-token": "s3cret"]) { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2, name: "Ben"))
            try await world.device(ann, "phone", locale: "en-GB")
            #expect(try await world.device(ann, "tablet", locale: "de-AT") == 2)
            try await world.posted(ben, for: ann)
            try await world.atRisk(ann, with: ben)
            try await world.push()
            let pushes = try world.expo.pushes.sorted { ($0.data.type, $0.to) < ($1.data.type, $1.to) }
            #expect(pushes.map(\.title) == ["📸 Ben posted", "📸 Ben hat gepostet", "⚠️ Streak at risk!", "⚠️ Streak in Gefahr!"])
            #expect(pushes.map(\.to) == ["phone", "tablet", "phone", "tablet"].map(World.token))
            #expect(pushes.allSatisfy { $0.badge == 2 && $0.collapseId == $0.tag })
            let risk = try #require(pushes.last)
            #expect(risk.body == "Dein Streak von 12 Tagen mit Ben läuft in 3 Stunden ab!")
            #expect(risk.data.streakType == "mutual" && risk.data.currentStreak == 12 && risk.data.hoursRemaining == 3)
            #expect(risk.data.deep_link == "streaksnap://streak/\(World.streak)" && risk.priority == "high")
            #expect(risk.channelId == "streaks" && risk.collapseId == "streak_at_risk:\(World.streak)")
            // 3 hours, less the minute in which reminders are spread.
            #expect(risk.ttl == 3 * 3_600 - 60)
            let list = try await world.list(ann)
            #expect(list.unreadCount == 2 && list.notifications.map(\.deepLink).contains(risk.data.deep_link))
            #expect(Set(list.notifications.map { "\($0.id)" }) == Set(pushes.map(\.data.notification_id)))
            #expect(try world.expo.requests.map(\.authorization) == ["Bearer s3cret"])
            #expect(try await world.states() == ["sent 4"])
        }
    }

    @Test func `quiet hours hold back what can wait, drop what cannot, and let a streak at risk pass`() async throws {
        // 21:30 in UTC; it is 23:30 in Berlin.
        try await withWorld(at: noon + .minutes(570)) { world in
            let (ann, ben) = (try await world.person(1, zone: "Europe/Berlin"), try await world.person(2, name: "Ben"))
            try await world.device(ann, "phone")
            try await world.posted(ben, for: ann)
            try await world.request(ben, ann)
            try await world.atRisk(ann, with: ben)
            try await world.push()
            #expect(try world.expo.pushes.map(\.data.type) == ["streak_at_risk"])
            // 06:59 in Berlin.
            world.clock.set(noon + .minutes(17 * 60 - 1))
            try await world.run("pushes")
            #expect(try world.expo.pushes.count == 1)
            world.clock.set(noon + .minutes(17 * 60))
            try await world.run("pushes")
            // What a friend posted yesterday is of no use any more.
            #expect(try world.expo.pushes.map(\.data.type) == ["streak_at_risk", "friend_request"])
            #expect(try await world.list(ann).notifications.count == 3, "the log has all")
        }
    }

    @Test func `a window at 22 gets both its pushes, the last one also when the first is switched off`() async throws {
        // 22:00 in UTC.
        let opens = noon + .hours(10)
        try await withWorld(at: opens) { world in
            let (ann, ben, cat) = (try await world.person(1), try await world.person(2), try await world.person(3))
            for (user, name) in [(ann, "ann"), (ben, "ben")] { try await world.device(user, name) }
            try await world.update(ben, UpdatePreferencesRequest(windowAlerts: false))
            let date = Zone.utc.date(at: opens)
            for user in [ann, ben] {
                try await world.consume(
                    SnapWindowOpened(
                        userID: user,
                        date: date,
                        promptText: "Lunch",
                        opensAt: opens,
                        closesAt: opens + .hours(2),
                        waitingFriendIDs: [cat],
                        hourIsChosen: true
                    )
                )
            }
            try await world.push()
            world.clock.set(opens + .minutes(90))
            for user in [ann, ben] {
                try await world.consume(
                    SnapWindowClosing(
                        userID: user,
                        date: date,
                        promptText: "Lunch",
                        closesAt: opens + .hours(2),
                        waitingFriendIDs: [cat],
                        hourIsChosen: true
                    )
                )
            }
            try await world.push()
            let pushes = try world.expo.pushes.map { "\($0.to) \($0.data.type)" }.sorted()
            #expect(
                pushes == [
                    "\(World.token("ann")) daily_window", "\(World.token("ann")) window_closing",
                    "\(World.token("ben")) window_closing",
                ]
            )
        }
    }

    @Test func `a provider that was away does not push into quiet hours, nor what is of no use`() async throws {
        // 21:50 in UTC.
        try await withWorld(at: noon + .minutes(590)) { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await world.device(ann, "phone")
            try world.expo.behave(#"{"mode": "status", "status": 503}"#)
            try await world.request(ben, ann)
            try await world.atRisk(ann, with: ben)
            try await world.push()
            #expect(try await world.states() == ["queued 2"])
            try world.expo.behave("{}")
            // After midnight, in quiet hours.
            world.clock.set(noon + .hours(13))
            try await eventually("it is away no more") {
                try await world.run("pushes")
                return try await world.states() == ["queued 1", "expired 1"]
            }
            #expect(try await world.reasons() == ["useless"])
            world.clock.set(noon + .hours(19))
            try await world.run("pushes")
            #expect(try world.expo.pushes.map(\.data.type) == ["friend_request"])
        }
    }

    @Test func `a date has 8 pushes, and places are kept for those that matter`() async throws {
        try await withWorld { world in
            let ann = try await world.person(1)
            try await world.device(ann, "phone")
            for number in UInt64(2)..<12 {
                let friend = try await world.person(number)
                try await world.posted(friend, for: ann, in: StreakID(high: 4, low: number))
                try await world.request(friend, ann, number)
            }
            try await world.atRisk(ann, with: UserID(high: 1, low: 2))
            try await world.push()
            let kinds = Dictionary(grouping: try world.expo.pushes, by: \.data.type).mapValues(\.count)
            #expect(kinds == ["friend_posted": DayPlaces.open, "streak_at_risk": 1, "friend_request": 10])
            #expect(try await world.list(ann).notifications.count == 21)
            // The next date of the user has places of its own.
            world.clock.set(noon + .days(1))
            try await world.posted(UserID(high: 1, low: 2), for: ann)
            try await world.push()
            #expect(try world.expo.pushes.count == DayPlaces.open + 12)
        }
    }

    @Test func `what is switched off is in the log only, also when it was queued before`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await world.device(ann, "phone")
            let standard = try await GetPreferences(log: world.core.log).handle(GetPreferencesRequest(), World.by(ann))
            #expect(standard.windowAlerts && standard.nudges && standard.quietHours)
            #expect(standard.quietStartHour == 22 && standard.quietEndHour == 7)
            try await world.posted(ben, for: ann)
            let changed = try await world.update(ann, UpdatePreferencesRequest(friendPosted: false))
            #expect(!changed.friendPosted && changed.milestone, "what is not given stays")
            try await world.posted(ben, for: ann)
            try await world.request(ben, ann)
            try await world.push()
            #expect(try world.expo.pushes.map(\.data.type) == ["friend_request"])
            #expect(try await world.reasons() == ["switched_off"])
            #expect(try await world.list(ann).unreadCount == 3)
        }
    }

    @Test func `two changes of preferences at once both count, and hours that are the same are refused`() async throws {
        try await withWorld { world in
            let ann = try await world.person(1)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await world.update(ann, UpdatePreferencesRequest(nudges: false)) }
                tasks.addTask { try await world.update(ann, UpdatePreferencesRequest(milestone: false)) }
                tasks.addTask { try await world.update(ann, UpdatePreferencesRequest(quietStartHour: 20)) }
                try await tasks.waitForAll()
            }
            let preferences = try await world.update(ann, UpdatePreferencesRequest(quietEndHour: 6))
            #expect(!preferences.nudges && !preferences.milestone && preferences.streakBroken)
            #expect(preferences.quietStartHour == 20 && preferences.quietEndHour == 6)
            await #expect(throws: ServiceError.self) { try await world.update(ann, UpdatePreferencesRequest(quietStartHour: 6)) }
            #expect(try await world.update(ann, UpdatePreferencesRequest()).quietStartHour == 20, "a refusal changes nothing")
            let handler = UpdatePreferences(mutations: world.mutations)
            let same = UpdatePreferencesRequest(quietStartHour: 6, quietEndHour: 6)
            #expect(handler.problems(of: same).map(\.field) == ["quiet_end_hour"], "said beside other bad fields")
            #expect(
                handler.problems(of: UpdatePreferencesRequest(quietStartHour: 6)) == [],
                "what is stored says whether it differs"
            )
        }
    }

    @Test func `a push that was read, deleted, or came from a user who is hidden meanwhile does not leave`() async throws {
        try await withWorld { world in
            let (ann, ben, cat) = (try await world.person(1), try await world.person(2), try await world.person(3))
            try await world.device(ann, "phone")
            try await world.posted(ben, for: ann)
            _ = try await world.markRead(ann, MarkReadRequest(all: true))
            try await world.request(ben, ann)
            try await world.posted(cat, for: ann)
            let block = BlockState(
                blockID: BlockID(high: 8, low: 8),
                version: 1,
                blockerID: cat,
                blockedID: ann,
                active: true,
                changedAt: noon
            )
            try await world.consume(UserBlocked(blockID: block.blockID, block: block))
            try await world.push()
            let pushes = try world.expo.pushes
            #expect(pushes.map(\.data.type) == ["friend_request"] && pushes.map(\.badge) == [1])
            #expect(try await world.reasons() == ["gone", "read"])
        }
    }

    @Test func `the test push passes everything, and says to how many devices it goes`() async throws {
        try await withWorld(at: noon + .hours(11)) { world in
            let ann = try await world.person(1)
            let send = SendTest(writer: world.core.writer, mutations: world.mutations)
            #expect(try await send.handle(SendTestRequest(), World.by(ann)).reply.devices == 0)
            try await world.device(ann, "phone")
            #expect(try await send.handle(SendTestRequest(), World.by(ann)).reply.devices == 1)
            try await world.run("pushes")
            #expect(try world.expo.pushes.map(\.title) == ["🔔 It works"])
        }
    }

    @Test func `of sixty test pushes of a user in an hour five are sent, also when their entries are deleted`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            let send = SendTest(writer: world.core.writer, mutations: world.mutations)
            var refusals: [ServiceError] = []
            for _ in 0..<60 {
                do {
                    _ = try await send.handle(SendTestRequest(), World.by(ann))
                    _ = try await world.database.execute("DELETE FROM notification WHERE user_id = \(ann)")
                } catch let error as ServiceError { refusals.append(error) }
            }
            #expect(refusals.count == 55)
            #expect(refusals.allSatisfy { $0.reason == "RATE_LIMITED" && (3_590...3_601).contains($0.retryAfter ?? 0) })
            _ = try await send.handle(SendTestRequest(), World.by(ben))
            world.clock.advance(by: .hours(1) + .seconds(1))
            _ = try await send.handle(SendTestRequest(), World.by(ann))
        }
    }

    @Test func `without an address nothing is pushed, and nothing waits`() async throws {
        try await withWorld(settings: ["notifications.push-url": ""]) { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await world.device(ann, "phone")
            try await world.posted(ben, for: ann)
            try await world.push()
            #expect(try await world.states() == ["expired 1"])
            #expect(try await world.reasons() == ["off"])
            #expect(try await world.list(ann).unreadCount == 1)
        }
    }
}
