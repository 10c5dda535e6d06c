import AuthAPI
import AuthAPI
import Bus
import Database
import Kernel
import MediaAPI
import Outbox
import SocialAPI
import SocialDomain
import TestSupport
import Testing
import Wire

@testable import Outbox
@testable import Runtime
@testable import ServiceRuntime
@testable import SocialSafety

/// Reports of posts, what moderators decide about them, and what machines put into the queue (SO-8, SO-9, PL-5).
@Suite(.timeLimit(.minutes(3))) struct PostReportTests {
    private func post(_ world: World, _ number: UInt64, by owner: UserID) -> PostID {
        let id = PostID(high: 8, low: number)
        world.others.state.withLock { $0.postOwners[id] = owner }
        return id
    }

    @discardableResult
    private func report(_ world: World, _ post: PostID, by user: UserID) async throws -> ReportID {
        let request = ReportRequest(subjectType: .post, subjectID: post.cast(to: Tag.Subject.self), reason: .inappropriate)
        return try await world.service.report(request, context: World.by(user)).reportID
    }

    private func act(_ world: World, _ action: ModerationAction, on report: ReportID, by moderator: UserID) async throws
        -> ReportItem
    {
        try await world.service.actionReport(
            ActionReportRequest(reportID: report, action: action, note: "seen"),
            context: World.by(moderator, role: .admin)
        )
    }

    private func queue(_ world: World, _ status: ReportStatus = .pending) async throws -> [ReportItem] {
        let context = World.by(UserID(high: 1, low: 99), role: .admin)
        return try await world.service.listReports(ListReportsRequest(status: status, limit: 100), context: context).reports
    }

    /// Events of one kind since the last call; those of other kinds are dropped.
    private func emitted<E: Event>(_ world: World, _: E.Type) async throws -> [E] {
        try await world.database.query(
            "WITH emitted AS (DELETE FROM outbox RETURNING position, subject, body) SELECT subject, body FROM emitted ORDER BY position"
        ).map { try $0.decode(as: (String.self, [UInt8].self)) }.filter { $0.0 == E.subject }.map { try E(serialized: $0.1) }
    }

    private func screen(
        _ world: World,
        _ post: PostID,
        of user: UserID,
        _ outcome: ScreeningOutcome,
        _ labels: [ScreenedLabel] = []
    )
        async throws
    {
        let event = PostScreened(postID: post, userID: user, outcome: outcome, labels: labels, screenedAt: world.clock.now())
        try await world.service.mutations.work.run(trace: "", requestID: "") { work in
            let stored = StoredEvent(
                id: work.ids.make(),
                aggregate: "",
                subject: PostScreened.subject,
                trace: "",
                requestID: "",
                body: try event.serialized()
            )
            try await ScreeningConsumer.handler(world.service.posts).handle(stored, work)
        }
    }

    @Test func `the third reporter hides a post; a dismissal answers all, shows it again and restarts the count`() async throws {
        try await withWorld { world in
            let (ann, mod) = (world.person(1), world.person(99))
            let post = post(world, 1, by: ann)
            let people = (2...8).map { world.person(UInt64($0)) }
            for reporter in people.prefix(2) { try await report(world, post, by: reporter) }
            #expect(try await emitted(world, PostStandingChanged.self).isEmpty)
            let third = try await report(world, post, by: people[2])
            let hidden = try await emitted(world, PostStandingChanged.self)
            #expect(hidden.map(\.hidden) == [true] && hidden.map(\.version) == [1] && hidden.map(\.removed) == [false])
            let own = await #expect(throws: ServiceError.self) { try await report(world, post, by: ann) }
            #expect(own?.reason == "CANNOT_REPORT_SELF")
            let twice = await #expect(throws: ServiceError.self) { try await report(world, post, by: people[0]) }
            #expect(twice?.reason == "ALREADY_REPORTED")

            let pending = try await queue(world)
            #expect(pending.count == 3 && pending.map(\.reporters).sorted() == [1, 2, 3])
            #expect(pending.allSatisfy { $0.post?.thumbnailURL == "/thumb/\(post)" && $0.source == .user })
            let acted = try await act(world, .dismiss, on: third, by: mod)
            #expect(acted.status == .dismissed && acted.action?.moderatorID == mod)
            #expect(try await queue(world).isEmpty)
            let dismissed = try await queue(world, .dismissed)
            #expect(
                dismissed.count == 3 && Set(dismissed.compactMap { $0.action?.actionID }).count == 3,
                "each has its entry in the log"
            )
            let events = try await world.database.query("SELECT subject, body FROM outbox ORDER BY position")
                .map { try $0.decode(as: (String.self, [UInt8].self)) }
            let taken = try ModerationActionTaken(
                serialized: try #require(events.first { $0.0 == ModerationActionTaken.subject }).1
            )
            #expect(taken.restored && taken.reporterID == people[2] && Set(taken.otherReporterIDs) == Set(people.prefix(2)))
            let shown = try await emitted(world, PostStandingChanged.self)
            #expect(shown.map(\.hidden) == [false] && shown.map(\.version) == [2])

            // Two more are not three.
            for reporter in people[3...4] { try await report(world, post, by: reporter) }
            #expect(try await emitted(world, PostStandingChanged.self).isEmpty)
            try await report(world, post, by: people[5])
            #expect(try await emitted(world, PostStandingChanged.self).map(\.hidden) == [true])
        }
    }

    @Test func `three accounts that are seconds old and unverified hide no post; with two that are known they do`() async throws {
        try await withWorld { world in
            let ann = world.person(1)
            let post = post(world, 1, by: ann)
            func made(_ number: UInt64, verified: Bool) -> UserID {
                let id = UserID(high: UInt64(world.clock.now().milliseconds) << 16, low: number)
                world.others.state.withLock {
                    $0.people[id] = ProfileState(
                        userID: id,
                        version: 1,
                        username: "made\(number)",
                        displayName: "Made",
                        timeZone: "UTC",
                        status: .active,
                        verifiedEmail: verified ? "made\(number)@example.com" : ""
                    )
                }
                return id
            }
            for number in 0..<5 { try await report(world, post, by: made(100 + UInt64(number), verified: false)) }
            #expect(try await emitted(world, PostStandingChanged.self).isEmpty)
            #expect(try await queue(world).count == 5, "moderators see them")
            let asked = { try await world.service.listHiddenPosts(ListHiddenPostsRequest(), context: World.by(ann)).posts }
            #expect(try await asked().isEmpty)
            for number in 0..<2 { try await report(world, post, by: made(200 + UInt64(number), verified: true)) }
            #expect(try await emitted(world, PostStandingChanged.self).isEmpty)
            try await report(world, post, by: world.person(2))
            #expect(try await emitted(world, PostStandingChanged.self).map(\.hidden) == [true])
        }
    }

    @Test func `the author learns why a post is hidden, and not by whom`() async throws {
        try await withWorld { world in
            let (ann, mod) = (world.person(1), world.person(99))
            let (first, second) = (post(world, 1, by: ann), post(world, 2, by: ann))
            for (number, reason) in [ReportReason.spam, .harassment, .spam].enumerated() {
                let request = ReportRequest(subjectType: .post, subjectID: first.cast(to: Tag.Subject.self), reason: reason)
                _ = try await world.service.report(request, context: World.by(world.person(2 + UInt64(number))))
            }
            func hidden(_ user: UserID) async throws -> [HiddenPost] {
                try await world.service.listHiddenPosts(ListHiddenPostsRequest(), context: World.by(user)).posts
            }
            let found = try await hidden(ann)
            #expect(found.map(\.postID) == [first] && found.map(\.reasons) == [[.spam, .harassment]])
            #expect(found.map(\.decided) == [false] && found.map(\.removed) == [false])
            #expect(found.map(\.hiddenAt) == [world.clock.now()])
            #expect(try await hidden(world.person(2)).isEmpty)
            world.clock.advance(by: .minutes(1))
            let filed = try await report(world, second, by: world.person(2))
            _ = try await act(world, .remove, on: filed, by: mod)
            let both = try await hidden(ann)
            #expect(both.map(\.postID) == [second, first] && both.map(\.removed) == [true, false])
            #expect(both.first?.decided == true && both.first?.reasons == [.inappropriate])
        }
    }

    @Test func `reports at the same moment hide a post once, and sixteen moderators decide once`() async throws {
        try await withWorld { world in
            let ann = world.person(1)
            let post = post(world, 1, by: ann)
            let people = (2...9).map { world.person(UInt64($0)) }
            let reported = try await atOnce(8) { try await report(world, post, by: people[$0]) }
            #expect(reported == ["OK": 8])
            #expect(try await emitted(world, PostStandingChanged.self).map(\.version) == [1])
            let pending = try await queue(world)
            #expect(pending.map(\.reporters).sorted() == (1...8).map { Int32($0) })
            // Each has another of its reports before them.
            let decided = try await atOnce(16) { index in
                let moderator = UserID(high: 1, low: 90)
                _ = try await act(world, index % 2 == 0 ? .remove : .dismiss, on: pending[index % 8].reportID, by: moderator)
            }
            #expect(decided == ["OK": 1, "ALREADY_ACTIONED": 15])
            #expect(try await queue(world).isEmpty)
        }
    }

    @Test func `a removal deletes the post for good; only posts are removed`() async throws {
        try await withWorld { world in
            let (ann, ben, mod) = (world.person(1), world.person(2), world.person(99))
            let post = post(world, 1, by: ann)
            let filed = try await report(world, post, by: ben)
            _ = try await emitted(world, PostStandingChanged.self)
            #expect(try await act(world, .remove, on: filed, by: mod).action?.action == .remove)
            let removed = try await emitted(world, PostStandingChanged.self)
            #expect(removed.map(\.removed) == [true] && removed.map(\.hidden) == [true])
            let person = ReportRequest(subjectType: .user, subjectID: ann.cast(to: Tag.Subject.self), reason: .spam)
            let about = try await world.service.report(person, context: World.by(ben)).reportID
            let error = await #expect(throws: ServiceError.self) { _ = try await act(world, .remove, on: about, by: mod) }
            #expect(error?.reason == "VALIDATION_ERROR" && error?.details.map(\.field) == ["action"])
        }
    }

    @Test func `a post that is hidden, gone or of a deleted account cannot be reported`() async throws {
        try await withWorld { world in
            let (ben, gone) = (world.person(2), world.person(3, status: .deleted))
            for post in [PostID(high: 8, low: 77), post(world, 1, by: gone)] {
                let error = await #expect(throws: ServiceError.self) { try await report(world, post, by: ben) }
                #expect(error?.code == .notFound)
            }
        }
    }

    @Test func `machines put posts into the same queue, with what they saw`() async throws {
        try await withWorld { world in
            let (ann, mod) = (world.person(1), world.person(99))
            let (doubtful, unseen, refused) = (post(world, 1, by: ann), post(world, 2, by: ann), PostID(high: 8, low: 3))
            let labels = [ScreenedLabel(name: "Alcohol", confidence: 70), ScreenedLabel(name: "Gambling", confidence: 55)]
            try await screen(world, doubtful, of: ann, .doubtful, labels)
            for _ in 0..<2 { try await screen(world, unseen, of: ann, .unreachable) }
            try await screen(world, refused, of: ann, .rejected, [ScreenedLabel(name: "Explicit", confidence: 99)])
            let pending = try await queue(world)
            #expect(
                pending.count == 2 && pending.allSatisfy { $0.reporterID == nil && $0.owner?.userID == ann && $0.post != nil }
            )
            let seen = try #require(pending.first { $0.source == .labels })
            #expect(seen.labels.map(\.name) == ["Alcohol", "Gambling"] && seen.labels.map(\.confidence) == [70, 55])
            #expect(pending.contains { $0.source == .unreachable && $0.labels.isEmpty })
            let log = try #require(try await queue(world, .actioned).first)
            #expect(log.subjectID == refused.cast(to: Tag.Subject.self) && log.action?.action == .remove && log.labels.count == 1)
            #expect(log.action?.moderatorID == nil && log.post == nil)
            // A moderator finds nothing wrong: no reporter is to be answered, and the post is as it was.
            _ = try await act(world, .dismiss, on: seen.reportID, by: mod)
            let taken = try await emitted(world, ModerationActionTaken.self)
            #expect(taken.count == 1 && taken.first?.reporterID == nil && taken.first?.restored == false)
        }
    }

    @Test func `who has three posts hidden, removed or refused within 90 days is flagged once`() async throws {
        try await withWorld { world in
            let (ann, mod) = (world.person(1), world.person(99))
            let people = (2...4).map { world.person(UInt64($0)) }
            try await screen(
                world,
                PostID(high: 8, low: 50),
                of: ann,
                .rejected,
                [ScreenedLabel(name: "Explicit", confidence: 99)]
            )
            world.clock.advance(by: .days(91))
            for number in UInt64(1)...2 {
                for reporter in people { try await report(world, post(world, number, by: ann), by: reporter) }
            }
            let early = try await queue(world)
            #expect(!early.contains { $0.source == .oftenHidden }, "the first is too long ago")
            let filed = try await report(world, post(world, 3, by: ann), by: people[0])
            _ = try await act(world, .remove, on: filed, by: mod)
            for reporter in people { try await report(world, post(world, 4, by: ann), by: reporter) }
            let flags = try await queue(world).filter { $0.source == .oftenHidden }
            #expect(flags.count == 1 && flags.first?.subjectType == .user && flags.first?.owner?.userID == ann)
            #expect(flags.first?.description?.contains("3 posts") == true)
            // Looked at: it takes three more.
            _ = try await act(world, .warn, on: try #require(flags.first).reportID, by: mod)
            world.clock.advance(by: .seconds(1))
            for reporter in people { try await report(world, post(world, 5, by: ann), by: reporter) }
            let later = try await queue(world)
            #expect(!later.contains { $0.source == .oftenHidden })
        }
    }
}
