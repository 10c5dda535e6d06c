import BillingAPI
import BillingDomain
import Foundation
import Kernel
import StreaksAPI
import TestSupport
import Testing

@testable import BillingMoney
@testable import BillingService

/// Packs move with a `TRANSFER` as far as they are unused, each once (BI-1, BI-5, D6).
@Suite(.timeLimit(.minutes(10)))
struct TransferTests {
    private let ann = UserID(high: 1, low: 1)
    private let ben = UserID(high: 1, low: 2)
    private let eve = UserID(high: 1, low: 3)
    private let start = World.start

    private func pack(
        _ product: String,
        _ transaction: String,
        of user: UserID,
        type: String = "NON_RENEWING_PURCHASE",
        days: Int64 = 0,
        _ more: [String: Any] = [:]
    ) -> String {
        let fields: [String: Any] = ["product_id": product, "transaction_id": transaction]
        let id = "\(type) \(transaction) \(days)"
        return webhook(type, id, user.description, at: start + .days(days), fields.merging(more) { $1 })
    }

    private func transfer(_ from: String, to: String, days: Int64) -> String {
        let fields: [String: Any] = ["transferred_from": [from], "transferred_to": [to]]
        return webhook("TRANSFER", "transfer \(from) \(days)", "", at: start + .days(days), fields)
    }

    private func transfer(_ from: UserID, to: UserID, days: Int64) -> String {
        transfer(from.description, to: to.description, days: days)
    }

    private func tokens(_ user: UserID, _ world: World) async throws -> Int64 {
        try await world.ledger.balance(of: user, .recoveryTokens)
    }

    private func missing(_ world: World) async throws -> [String] {
        try await world.database.query("SELECT missing FROM goods_operation WHERE missing IS NOT NULL ORDER BY id").compactMap {
            try $0.decode(as: String?.self)
        }
    }

    @Test func `unused goods move with the transfer, whatever the order in which it arrives and however often`() async throws {
        let bought = [
            pack("streak_freeze_bundle_5", "p1", of: ann), pack("recovery_token_pack_10", "p2", of: ann),
            pack("streak_shield", "p3", of: ben),
        ]
        let moved = transfer(ann, to: ben, days: 1)
        for bodies in [bought + [moved, moved], [moved] + bought + [moved], [bought[0], moved, bought[1], bought[2]]] {
            try await withWorld { world in
                world.others.add([ann, ben])
                for body in bodies {
                    try await world.receive(body)
                    try await world.settle()
                }
                _ = try await StoreEventRepository.replay(nil, now: world.clock.now(), world.database)
                try await world.settle()
                #expect(world.others.stock(of: ann).isEmpty)
                #expect(world.others.stock(of: ben) == ["freeze": 5, "shield": 1])
                #expect(try await tokens(ann, world) == 0)
                #expect(try await tokens(ben, world) == 10)
                #expect(try await world.ledger.sums()[.recoveryTokens] == 0)
                #expect(try await missing(world).isEmpty)
                let receipts = try await world.count("SELECT count(*) FROM outbox WHERE subject = \(PurchaseCompleted.subject)")
                #expect(receipts == 3, "none for a move")
                #expect(try await world.count("SELECT count(*) FROM purchase WHERE user_id = \(ben) AND state = 2") == 3)
            }
        }
    }

    @Test func `a transfer that comes after a later one of the same user moves what that one took elsewhere`() async throws {
        let (first, second) = (transfer(ann, to: ben, days: 1), transfer(ann, to: eve, days: 2))
        let bought = pack("streak_freeze_bundle_5", "p1", of: ann)
        for bodies in [[bought, second, first], [second, bought, first], [bought, first, second], [second, first, bought]] {
            try await withWorld { world in
                world.others.add([ann, ben, eve])
                for body in bodies {
                    try await world.receive(body)
                    try await world.settle()
                }
                #expect(world.others.stock(of: ben) == ["freeze": 5])
                #expect(world.others.stock(of: ann).isEmpty && world.others.stock(of: eve).isEmpty)
            }
        }
    }

    @Test func `what was used stays used, and is said`() async throws {
        try await withWorld { world in
            world.others.add([ann, ben])
            try await world.receive(pack("streak_freeze_bundle_5", "p1", of: ann))
            try await world.receive(pack("recovery_token_pack_3", "p2", of: ann))
            try await world.settle()
            for _ in 0..<2 { world.others.use("freeze", of: ann) }
            _ = try await world.spend(OperationID(high: 2, low: 1), of: ann)
            try await world.receive(transfer(ann, to: ben, days: 1))
            try await world.settle()
            #expect(world.others.stock(of: ann).isEmpty)
            #expect(world.others.stock(of: ben) == ["freeze": 3])
            #expect(try await tokens(ann, world) == 0)
            #expect(try await tokens(ben, world) == 2)
            #expect(Set(try await missing(world)) == ["freeze 2", "recovery_token 1"])
            // A refund afterwards takes what has moved, from whom has it now, and no token that ben earned.
            try await world.earn(ben, eve, count: 30)
            for (product, transaction) in [("streak_freeze_bundle_5", "p1"), ("recovery_token_pack_3", "p2")] {
                let refund = ["cancel_reason": "CUSTOMER_SUPPORT"]
                try await world.receive(pack(product, transaction, of: ben, type: "CANCELLATION", days: 2, refund))
            }
            try await world.settle()
            #expect(world.others.stock(of: ben).isEmpty)
            #expect(try await tokens(ben, world) == 1)
            #expect(try await world.ledger.sums()[.recoveryTokens] == 0)
        }
    }

    @Test func `a pack that was refunded does not move, and one whose refund is reversed goes to its present owner`() async throws
    {
        try await withWorld { world in
            world.others.add([ann, ben])
            try await world.receive(pack("streak_freeze_bundle_5", "p1", of: ann))
            let refund = ["cancel_reason": "CUSTOMER_SUPPORT"]
            try await world.receive(pack("streak_freeze_bundle_5", "p1", of: ann, type: "CANCELLATION", days: 1, refund))
            try await world.settle()
            try await world.receive(transfer(ann, to: ben, days: 2))
            try await world.settle()
            #expect(world.others.stock(of: ann).isEmpty && world.others.stock(of: ben).isEmpty)
            try await world.receive(pack("streak_freeze_bundle_5", "p1", of: ben, type: "REFUND_REVERSED", days: 3))
            try await world.settle()
            #expect(world.others.stock(of: ann).isEmpty)
            #expect(world.others.stock(of: ben) == ["freeze": 5])
        }
    }

    @Test func `goods stay where they are until the other side is known, and then move`() async throws {
        try await withWorld { world in
            world.others.add([ann, ben])
            try await world.receive(pack("streak_shield", "p1", of: ann))
            try await world.receive(transfer(ann.description, to: "$RCAnonymousID:1", days: 1))
            try await world.settle()
            #expect(world.others.stock(of: ann) == ["shield": 1])
            let fields: [String: Any] = ["aliases": ["$RCAnonymousID:1"]]
            try await world.receive(webhook("SUBSCRIBER_ALIAS", "e9", ben.description, at: start + .days(2), fields))
            try await world.settle()
            #expect(world.others.stock(of: ann).isEmpty)
            #expect(world.others.stock(of: ben) == ["shield": 1])
        }
    }

    @Test func `a process that dies between taking and giving loses nothing and gives nothing twice`() async throws {
        try await withWorld { world in
            world.others.add([ann, ben])
            try await world.receive(pack("streak_freeze_bundle_5", "p1", of: ann))
            try await world.settle()
            // Taken, and not given yet, as a process leaves it that ends in between.
            world.others.refuse(.unavailable())
            try await world.receive(transfer(ann, to: ben, days: 1))
            try await world.settle()
            #expect(world.others.stock(of: ann).isEmpty && world.others.stock(of: ben).isEmpty)
            #expect(try await world.count("SELECT count(*) FROM goods_operation WHERE NOT is_done AND kind = 4") == 1)
            world.others.refuse(nil)
            try await world.database.execute("UPDATE goods_operation SET lease_until = '2020-01-01' WHERE NOT is_done")
            try await world.settle()
            try await world.settle()
            #expect(world.others.stock(of: ben) == ["freeze": 5])
        }
    }

    @Test(arguments: TestDepth.seeds(quick: 4, full: 40))
    func `random transfers under failures end with the last owner, each good once`(
        seed: UInt64
    ) async throws {
        try await withWorld { world in
            var dice = Seeded(seed)
            let users = [ann, ben, eve]
            world.others.add(users)
            world.others.fail(40, seed: seed)
            let products = [
                ("streak_freeze_bundle_5", "freeze", 5), ("recovery_token_pack_3", "token", 3), ("xp_booster", "xp_booster", 1),
            ]
            var owners: [(user: UserID, good: String, count: Int)] = []
            var bodies: [String] = []
            for number in 0..<6 {
                let (user, product) = (dice.pick(users), dice.pick(products))
                bodies.append(pack(product.0, "p\(number)", of: user))
                owners.append((user, product.1, product.2))
            }
            for day in 1...4 {
                let from = dice.pick(users)
                let to = dice.pick(users.filter { $0 != from })
                bodies.append(transfer(from, to: to, days: Int64(day)))
                for index in owners.indices where owners[index].user == from { owners[index].user = to }
            }
            for body in (bodies + bodies.filter { _ in dice.chance(30) }).shuffled(using: &dice) {
                try await world.receive(body)
                if dice.chance(50) { _ = try? await world.events.applyDue(now: world.clock.now()) }
                if dice.chance(30) { _ = try? await world.purchases.sweep() }
            }
            world.others.fail(0, seed: seed)
            try await eventually("all steps are done") {
                world.clock.advance(by: .hours(2))
                try await world.database.execute("UPDATE goods_operation SET lease_until = '2020-01-01' WHERE NOT is_done")
                try await world.settle()
                return try await world.count("SELECT count(*) FROM goods_operation WHERE NOT is_done") == 0
            }
            for user in users {
                let mine = Dictionary(grouping: owners.filter { $0.user == user }, by: \.good).mapValues { goods in
                    Int32(goods.reduce(0) { $0 + $1.count })
                }
                var found = world.others.stock(of: user)
                let balance = Int32(try await tokens(user, world))
                found["token"] = balance == 0 ? nil : balance
                #expect(found == mine, "seed \(seed)")
            }
            #expect(try await world.ledger.sums() == [.coins: 0, .recoveryTokens: 0])
            #expect(try await missing(world).isEmpty)
        }
    }
}
