import Kernel
import StreaksAPI
import TestSupport
import Testing

@testable import StreaksGoods

/// The stock of goods under operations of billing (BI-5).
struct GoodsTests {
    private let ann = UserID(high: 1, low: 1)

    private func grant(_ world: World, _ operation: UInt64, _ goods: [String: Int32]) async throws -> [String: Int32] {
        let request = GrantGoodsRequest(
            operationID: OperationID(high: 9, low: operation),
            userID: ann,
            goods: goods.sorted { $0.key < $1.key }.map { GoodCount(good: $0.key, count: $0.value) }
        )
        let reply = try await GrantGoods(
            freezes: BoughtFreezes(writer: world.service.writer),
            shields: BoughtShields(writer: world.service.writer),
            profiles: world.service.core.profiles,
            mutations: world.mutations
        ).handle(request, World.by(ann)).reply
        return Dictionary(uniqueKeysWithValues: reply.stock.map { ($0.good, $0.count) })
    }

    private func takeBack(_ world: World, _ operation: UInt64, of grant: UInt64) async throws -> TakeBackGoodsReply {
        let request = TakeBackGoodsRequest(
            operationID: OperationID(high: 9, low: operation),
            userID: ann,
            grantID: OperationID(high: 9, low: grant)
        )
        return try await TakeBackGoods(
            freezes: BoughtFreezes(writer: world.service.writer),
            shields: BoughtShields(writer: world.service.writer),
            mutations: world.mutations
        ).handle(request, World.by(ann)).reply
    }

    @Test func `an operation grants once, also when its stored answer is gone`() async throws {
        try await withWorld(at: "2026-01-05T12:00:00Z") { world in
            #expect(try await grant(world, 1, ["restore": 2, "shield": 1]) == ["restore": 2, "shield": 1])
            #expect(try await grant(world, 1, ["restore": 2, "shield": 1]) == ["restore": 2, "shield": 1])
            try await world.database.execute("DELETE FROM stored_reply")
            #expect(try await grant(world, 1, ["restore": 2, "shield": 1]) == ["restore": 2, "shield": 1])
            #expect(try await grant(world, 2, ["restore": 1]) == ["restore": 3])
            let error = await #expect(throws: ServiceError.self) { try await grant(world, 3, ["coins": 1]) }
            #expect(error?.reason == "UNKNOWN_GOOD")
        }
    }

    @Test func `what is unused is taken back once, and what is missing is said`() async throws {
        try await withWorld(at: "2026-01-05T12:00:00Z") { world in
            _ = try await grant(world, 1, ["restore": 5])
            try await world.database.execute("UPDATE goods_stock SET count = 2")
            let reply = try await takeBack(world, 2, of: 1)
            #expect(reply.taken.map(\.count) == [2] && reply.missing.map(\.count) == [3])
            try await world.database.execute("DELETE FROM stored_reply")
            #expect(try await takeBack(world, 2, of: 1) == reply)
            // A later purchase is not taken for it.
            #expect(try await grant(world, 3, ["restore": 4]) == ["restore": 4])
            #expect(try await takeBack(world, 2, of: 1) == reply)
            #expect(try await grant(world, 4, ["restore": 1]) == ["restore": 5])
            #expect(try await takeBack(world, 5, of: 77).taken.isEmpty, "nothing was granted by it")
        }
    }

    @Test func `a freeze that was paid for before midnight keeps the date, however late it is granted`() async throws {
        try await withCheckIns { life in
            // The one of the beginning and those that are earned are used up.
            try await life.live(3)
            try await life.miss(2)
            #expect(try await life.status().currentStreak == 0)
            let broken = life.clock.now()
            func grant() async throws -> GrantGoodsReply {
                try await GrantGoods(
                    freezes: BoughtFreezes(writer: life.world.service.writer),
                    shields: BoughtShields(writer: life.world.service.writer),
                    profiles: life.world.service.core.profiles,
                    mutations: life.world.mutations
                ).handle(
                    GrantGoodsRequest(
                        operationID: OperationID(high: 9, low: 1),
                        userID: life.ann,
                        goods: [GoodCount(good: "freeze", count: 5)],
                        keepsCredit: true,
                        obtainedAt: broken - .hours(13)
                    ),
                    World.by(life.ann)
                ).reply
            }
            life.clock.advance(by: .hours(20))
            for _ in 1...2 { _ = try await grant() }
            let status = try await life.status()
            #expect(status.currentStreak == 6 && status.freezesAvailable == 3, "\(status)")
            #expect(try await life.world.events(SoloStreakRestored.self).map(\.reason) == [.freeze])
            #expect(try await life.world.events(FreezeUsed.self).map(\.date).count == 3)
        }
    }

    @Test func `many operations at once are all counted`() async throws {
        try await withWorld(at: "2026-01-05T12:00:00Z") { world in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for number in 1...40 {
                    // Each comes twice.
                    tasks.addTask {
                        do { _ = try await grant(world, UInt64(number % 20 + 1), ["restore": 1, "repair": 2]) } catch let error
                            as ServiceError
                            where error.reason == "REQUEST_IN_PROGRESS"
                        {}
                    }
                }
                try await tasks.waitForAll()
            }
            #expect(try await grant(world, 99, ["restore": 1, "repair": 1]) == ["restore": 21, "repair": 41])
        }
    }
}
