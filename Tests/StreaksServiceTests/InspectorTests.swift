import Bus
import CommonAPI
import Kernel
import StreaksAPI
import StreaksDomain
import Testing

@testable import StreaksCore
@testable import StreaksInspector

/// The streak inspector of administrators: the stored ledger, with the fold's reasons in words.
struct InspectorTests {
    private let admin = CallContext(
        requestID: "inspection",
        deadline: SystemClock.now() + .minutes(2),
        principal: Principal(userID: UserID(high: 9, low: 9), role: .admin)
    )

    private func inspect(
        _ streak: StreakID,
        in world: World,
        limit: Int32 = 0,
        cursor: String = "",
        by context: CallContext? = nil
    ) async throws -> InspectStreakReply {
        let core = world.service.core
        return try await InspectStreak(store: core.store, profiles: core.profiles, work: world.work, clock: world.clock)
            .handle(InspectStreakRequest(streakID: streak, limit: limit, cursor: cursor), context ?? admin)
    }

    private func list(_ user: UserID, in world: World, by context: CallContext? = nil, limit: Int32 = 0, cursor: String = "")
        async throws -> ListUserStreaksReply
    {
        let core = world.service.core
        return try await ListUserStreaks(store: core.store, profiles: core.profiles, work: world.work)
            .handle(ListUserStreaksRequest(userID: user, limit: limit, cursor: cursor), context ?? admin)
    }

    @Test func `a broken streak of two says who missed, and what followed from each date`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (ann, bob) = (try await world.person(1), try await world.person(2))
            let streak = try await world.befriend(ann, bob)
            for _ in 1...3 {
                for user in [ann, bob] { _ = try await world.post(user, to: [streak]) }
                world.clock.advance(by: .days(1))
            }
            _ = try await world.post(ann, to: [streak])
            world.clock.advance(by: .days(1))
            let unsettled = try await inspect(streak, in: world)
            // As the fold sees it, also before the settlement.
            #expect(unsettled.days.first { $0.date == day("2026-05-04") }?.verdict == .missed)
            try await world.settle()
            let seen = try await inspect(streak, in: world)
            #expect(seen.streak?.status == .broken && seen.streak?.brokenBy == bob && seen.streak?.type == "mutual")
            #expect(seen.streak?.members.map(\.username) == ["person1", "person2"])
            let missed = try #require(seen.days.first { $0.date == day("2026-05-04") })
            #expect(missed.reason == "person2 did not post: the streak broke with a count of 3.")
            #expect(missed.contributions.map(\.userID) == [ann])
            #expect(missed.events.map(\.key) == ["broken:2026-05-04"])
            let second = try #require(seen.days.first { $0.date == day("2026-05-02") })
            #expect(second.verdict == .completed && second.reason == "Both posted.")
            #expect(second.contributions.map(\.userID) == [ann, bob] && second.events.map(\.key) == ["completed:2026-05-02"])
            // Page by page it is the same, the newest first.
            var (pages, cursor) = ([CalendarDate](), "")
            repeat {
                let page = try await inspect(streak, in: world, limit: 2, cursor: cursor)
                #expect(page.days.count <= 2)
                pages += page.days.map(\.date)
                cursor = page.meta?.nextCursor ?? ""
            } while !cursor.isEmpty
            #expect(pages == seen.days.map(\.date) && pages == pages.sorted(by: >))
        }
    }

    @Test func `a frozen and a paused date say why nothing broke`() async throws {
        try await withCheckIns { world in
            try await world.live(2)
            try await world.miss(1)
            try await world.checkIn()
            _ = try await world.pause(until: day("2026-01-11"))
            try await world.miss(2)
            let streak = try #require(try await list(world.ann, in: world.world).streaks.first)
            #expect(streak.type == "check_in" && streak.status == .active)
            let days = try await inspect(streak.streakID, in: world.world).days
            let verdicts = Dictionary(days.map { ($0.date, $0.verdict) }) { first, _ in first }
            #expect(verdicts[day("2026-01-07")] == .frozen, "\(days)")
            #expect(verdicts[day("2026-01-08")] == .completed)
            #expect(verdicts[day("2026-01-09")] == .paused)
            let frozen = try #require(days.first { $0.verdict == .frozen })
            #expect(frozen.events.contains { $0.text.hasPrefix("A freeze was spent; the count is 3") }, "\(frozen)")
        }
    }

    @Test func `all streaks of a person come, ended ones too, and every reading is emitted for the audit log`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let ann = try await world.person(1)
            var streaks: [StreakID] = []
            for number in 2...4 as ClosedRange<UInt64> {
                streaks.append(try await world.befriend(ann, try await world.person(number)))
                world.clock.advance(by: .hours(1))
            }
            let first = try await list(ann, in: world, limit: 2)
            #expect(first.streaks.map(\.streakID) == [streaks[2], streaks[1]])
            let rest = try await list(ann, in: world, limit: 2, cursor: try #require(first.meta?.nextCursor))
            #expect(rest.streaks.map(\.streakID) == [streaks[0]] && rest.meta?.nextCursor == nil)
            _ = try await inspect(streaks[0], in: world)
            let noted = try await world.events(StreaksAdminActed.self)
            #expect(noted.map(\.kind) == [.listStreaks, .listStreaks, .readStreak, .readStreak])
            #expect(noted.allSatisfy { $0.adminID == admin.principal?.userID && $0.requestID == "inspection" })
            #expect(Set(noted.suffix(2).map(\.userID)) == [ann, UserID(high: 1, low: 2)])
            #expect(noted.last?.detail == "streak \(streaks[0])")
        }
    }

    @Test func `who is no administrator is refused, and an unknown streak is not found`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (ann, bob) = (try await world.person(1), try await world.person(2))
            let streak = try await world.befriend(ann, bob)
            #expect(await refusal { try await inspect(streak, in: world, by: World.by(ann)) }?.reason == "ADMIN_ONLY")
            #expect(await refusal { try await list(ann, in: world, by: World.by(ann)) }?.reason == "ADMIN_ONLY")
            #expect(await refusal { try await inspect(StreakID(high: 5, low: 5), in: world) }?.reason == "NOT_FOUND")
            #expect(try await world.events(StreaksAdminActed.self).isEmpty)
        }
    }
}
