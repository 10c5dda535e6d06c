import Database
import Kernel
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import StreaksCheckIns
@testable import StreaksCore
@testable import StreaksGoods
@testable import StreaksPowerUps

/// Shields that were bought (TS-3): they protect from their purchase on, or after their use (`streaks.bought-shield`).
struct BoughtShieldTests {
    /// One person's shields under a setting.
    private struct Shields {
        let life: CheckInWorld
        let writer: StreakWriter
        var database: Database { life.world.database }

        init(_ life: CheckInWorld, _ setting: BoughtShield = .armed) {
            self.life = life
            writer = StreakWriter(database: life.world.database, AllStreaks.extensions, boughtShield: setting)
        }

        @discardableResult
        func grant(_ operation: UInt64, count: Int32 = 1, byMoney: Bool = true, at obtainedAt: Instant? = nil) async throws
            -> [Int32]
        {
            let request = GrantGoodsRequest(
                operationID: OperationID(high: 9, low: operation),
                userID: life.ann,
                goods: [GoodCount(good: "shield", count: count)],
                keepsCredit: byMoney,
                obtainedAt: obtainedAt ?? life.clock.now()
            )
            let handler = GrantGoods(
                freezes: BoughtFreezes(writer: writer),
                shields: BoughtShields(writer: writer),
                profiles: life.world.service.core.profiles,
                mutations: life.world.mutations
            )
            return try await handler.handle(request, World.by(life.ann)).reply.stock.map(\.count)
        }

        func takeBack(_ operation: UInt64, of grant: UInt64) async throws -> TakeBackGoodsReply {
            let request = TakeBackGoodsRequest(
                operationID: OperationID(high: 9, low: operation),
                userID: life.ann,
                grantID: OperationID(high: 9, low: grant)
            )
            let handler = TakeBackGoods(
                freezes: BoughtFreezes(writer: writer),
                shields: BoughtShields(writer: writer),
                mutations: life.world.mutations
            )
            return try await handler.handle(request, World.by(life.ann)).reply
        }

        func use() async throws -> UsePowerUpReply {
            let uses = PowerUpUses(writer: writer)
            let handler = UsePowerUp(uses: uses, profiles: life.world.service.core.profiles, mutations: life.world.mutations)
            return try await handler.handle(UsePowerUpRequest(good: "shield"), World.by(life.ann)).reply
        }

        func checkIn() async throws {
            let streaks = CheckInStreaks(writer: writer, profiles: life.world.service.core.profiles, work: life.world.work)
            let handler = CheckIn(
                recorder: CheckInRecorder(streaks: streaks),
                mutations: life.world.mutations,
                clock: life.clock
            )
            let request = CheckInRequest(moodScore: 8, energyLevel: 7, checkInTime: life.clock.now())
            _ = try await handler.handle(request, life.context())
        }

        func list() async throws -> ListPowerUpsReply {
            let handler = ListPowerUps(database: database, boughtShield: writer.boughtShield)
            return try await handler.handle(ListPowerUpsRequest(), World.by(life.ann))
        }

        func held() async throws -> HeldPowerUp { try #require(try await list().held.first { $0.good == "shield" }) }

        /// How many entries of the ledger shields have made.
        func entries() async throws -> Int { try await database.query("SELECT 1 FROM streak_protection").count }

        /// A check-in streak without a freeze, checked in today. - Returns: its count.
        func bare() async throws -> Int32 {
            try await life.live(3)
            for _ in 0..<10 where try await life.status().freezesAvailable > 0 { try await life.miss(1) }
            return try await life.checkIn().streak?.currentStreak ?? 0
        }
    }

    @Test(arguments: [true, false])
    func `a shield protects from its purchase on, and an event that comes twice arms it once`(byMoney: Bool) async throws {
        try await withCheckIns { life in
            let shields = Shields(life)
            let count = try await shields.bare()
            #expect(try await shields.grant(1, byMoney: byMoney) == [0])
            try await life.world.database.execute("DELETE FROM stored_reply")
            #expect(try await shields.grant(1, byMoney: byMoney) == [0])
            #expect(try await shields.entries() == 1)
            let held = try await shields.held()
            #expect(held.count == 0 && !held.needsUse && held.description.contains("from its purchase"))
            #expect(try await shields.list().active.map(\.good) == ["shield"])
            // A use all the same says so, and nothing is spent.
            #expect(await refusal { try await shields.use() }?.reason == "POWER_UP_ALREADY_ACTIVE")
            life.clock.advance(by: .days(1))
            #expect(try await life.status().streakSafe)
            let missed = Zone.utc.date(at: life.clock.now())
            try await life.miss(1)
            let status = try await life.status()
            #expect(status.currentStreak == count && !status.streakSafe, "kept once")
            #expect(try await shields.list().used.first.map { [$0.helpedOn] } == [missed])
            #expect(try await shields.list().active.isEmpty)
            #expect(await refusal { try await shields.use() }?.reason == "POWER_UP_NOT_HELD")
            try await life.miss(1)
            #expect(try await life.status().currentStreak == 0)
        }
    }

    @Test func `a purchase before midnight that is delivered after it keeps the date that was missed`() async throws {
        try await withCheckIns { life in
            let shields = Shields(life)
            let count = try await shields.bare()
            try await life.miss(2)
            #expect(try await life.status().currentStreak == 0)
            let missed = Zone.utc.date(at: life.clock.now() - .days(1))
            for _ in 1...2 { try await shields.grant(1, at: life.clock.now() - .hours(13)) }
            #expect(try await life.status().currentStreak == count)
            #expect(try await life.world.events(ProtectionUsed.self).map(\.date) == [missed])
            #expect(try await shields.entries() == 1)
            let used = try #require(try await shields.list().used.first)
            #expect(used.state == .used && used.helpedOn == missed)
            #expect(try await shields.list().active.isEmpty)
        }
    }

    @Test func `a purchase after the break does not undo it, and protects from then on`() async throws {
        try await withCheckIns { life in
            let shields = Shields(life)
            _ = try await shields.bare()
            try await life.miss(2)
            try await shields.grant(1, at: life.clock.now() - .hours(11))
            #expect(try await life.status().currentStreak == 0)
            try await life.checkIn()
            life.clock.advance(by: .days(1))
            #expect(try await life.status().streakSafe)
        }
    }

    @Test func `without a check-in streak a shield stays in hand, and the first check-in arms it`() async throws {
        try await withCheckIns { life in
            let shields = Shields(life)
            #expect(try await shields.grant(1) == [1])
            #expect(try await shields.held().count == 1)
            #expect(try await shields.list().active.isEmpty)
            try await life.checkIn()
            #expect(try await shields.held().count == 0)
            #expect(try await shields.list().active.map(\.good) == ["shield"])
            life.clock.advance(by: .days(1))
            try await life.checkIn()
            #expect(try await shields.entries() == 1)
        }
    }

    @Test func `several shields keep a date each, also when they are settled together`() async throws {
        try await withCheckIns { life in
            let shields = Shields(life)
            let count = try await shields.bare()
            try await shields.grant(1, count: 2)
            #expect(try await shields.list().active.count == 2)
            try await life.miss(3)
            #expect(try await life.status().currentStreak == count)
            #expect(Set(try await shields.list().used.prefix(2).map(\.helpedOn)).count == 2)
            #expect(try await shields.list().active.isEmpty)
        }
    }

    @Test func `a refund takes a shield back that has kept nothing, and says what is missing`() async throws {
        try await withCheckIns { life in
            let shields = Shields(life)
            let count = try await shields.bare()
            try await shields.grant(1, count: 2)
            try await life.miss(2)
            let reply = try await shields.takeBack(2, of: 1)
            #expect(reply.taken.map(\.count) == [1] && reply.missing.map(\.count) == [1])
            try await life.world.database.execute("DELETE FROM stored_reply")
            #expect(try await shields.takeBack(2, of: 1) == reply)
            let status = try await life.status()
            #expect(status.currentStreak == count && !status.streakSafe)
            let list = try await shields.list()
            #expect(list.active.isEmpty && Set(list.used.map(\.state)) == [.used, .expired] && list.used.count == 2)
            try await life.miss(1)
            #expect(try await life.status().currentStreak == 0)
        }
    }

    @Test func `with the setting off a shield protects only after its use, and the list says so`() async throws {
        try await withCheckIns { life in
            let shields = Shields(life, .afterUse)
            _ = try await shields.bare()
            #expect(try await shields.grant(1) == [1])
            let held = try await shields.held()
            #expect(held.count == 1 && held.needsUse && held.description.contains("once you have used it"))
            life.clock.advance(by: .days(1))
            try await shields.checkIn()
            #expect(try await shields.held().count == 1)
            life.clock.advance(by: .days(1))
            #expect(try await !life.status().streakSafe)
            #expect(try await shields.use().left == 0)
            #expect(try await life.status().streakSafe)
            try await shields.grant(2)
            #expect(await refusal { try await shields.use() }?.reason == "POWER_UP_ALREADY_ACTIVE")
            #expect(try await shields.held().count == 1)
        }
    }

    @Test func `a shield that was in hand when the setting changed is armed by the next check-in`() async throws {
        try await withCheckIns { life in
            try await Shields(life, .afterUse).grant(1)
            let shields = Shields(life)
            try await life.checkIn()
            #expect(try await shields.held().count == 0)
            #expect(try await shields.list().active.map(\.good) == ["shield"])
        }
    }

    @Test func `what is sold says whether it must be used`() async throws {
        try await withCheckIns { life in
            for setting in [BoughtShield.armed, .afterUse] {
                let check = GoodsCheck(store: life.world.service.core.store, database: life.world.database)
                let handler = CheckGoods(check: check, boughtShield: setting, clock: life.clock)
                let goods = ["freeze", "shield", "insurance"].map { GoodCount(good: $0, count: 1) }
                let reply = try await handler.handle(CheckGoodsRequest(userID: life.ann, goods: goods), World.by(life.ann))
                #expect(reply.goods.map(\.needsUse) == [false, setting == .afterUse, true])
                #expect(reply.goods[1].description.contains("once you have used it") == (setting == .afterUse))
            }
        }
    }

    @Test func `a use that was asked for before midnight and is written after it is shown as used`() async throws {
        try await withCheckIns { life in
            let shields = Shields(life, .afterUse)
            let count = try await shields.bare()
            try await shields.grant(1)
            life.clock.advance(by: .hours(35))
            let asked = life.clock.now()
            life.clock.advance(by: .hours(2))
            try await life.world.work.run(trace: "", requestID: "") { [ann = life.ann] work in
                let use = PowerUpUses.Use(
                    id: work.ids.make(),
                    user: ann,
                    good: .shield,
                    kind: .checkIn,
                    date: nil,
                    receivedAt: asked
                )
                _ = try await PowerUpUses(writer: shields.writer).use(use, work)
            }
            #expect(try await life.status().currentStreak == count)
            try await life.world.settle()
            let list = try await shields.list()
            #expect(list.active.isEmpty && list.used.map(\.state) == [.used])
        }
    }
}
