import BillingAPI
import Kernel
import Testing

@testable import BillingMoney
@testable import BillingService

/// The ledger of recovery tokens under operations of other services (RC-1, RC-4, BI-3).
struct TokenTests {
    private let ann = UserID(high: 1, low: 1)
    private let ben = UserID(high: 1, low: 2)

    private func refusal(_ body: () async throws -> Int32) async throws -> String? {
        do {
            _ = try await body()
            return nil
        } catch let error as ServiceError { return error.reason }
    }

    @Test func `an operation takes one token however often it asks, and always gets the same reply`() async throws {
        try await withWorld { world in
            for count in [30, 60] { try await world.earn(ann, ben, count: Int32(count)) }
            let operation = OperationID(high: 2, low: 1)
            #expect(try await world.spend(operation, of: ann) == 1)
            #expect(try await world.spend(OperationID(high: 2, low: 2), of: ann) == 0)
            #expect(try await world.spend(operation, of: ann) == 1, "the balance right after it")
            #expect(try await world.entries(of: ann) == [.earned, .earned, .used, .used])
            #expect(try await world.ledger.balance(of: ben, .recoveryTokens) == 2)
        }
    }

    @Test func `a refusal is kept: a repeat that was held up does not spend what was earned since`() async throws {
        try await withWorld { world in
            let late = OperationID(high: 2, low: 1)
            #expect(try await refusal { try await world.spend(late, of: ann) } == "NO_RECOVERY_TOKENS")
            try await world.earn(ann, ben, count: 30)
            #expect(try await refusal { try await world.spend(late, of: ann) } == "NO_RECOVERY_TOKENS")
            #expect(try await world.spend(OperationID(high: 2, low: 2), of: ann) == 0)
            // Another request under the same operation is neither.
            #expect(try await refusal { try await world.spend(late, of: ben) } == "OPERATION_CONFLICT")
            #expect(try await world.entries(of: ben) == [.earned])
        }
    }

    @Test func `a token comes back once, by whichever way, and only to who spent it`() async throws {
        try await withWorld { world in
            try await world.earn(ann, ben, count: 30)
            let operation = OperationID(high: 2, low: 1)
            #expect(try await refusal { try await world.refund(operation, to: ann) } == "TOKEN_NOT_SPENT")
            #expect(try await world.spend(operation, of: ann) == 0)
            #expect(try await refusal { try await world.refund(operation, to: ben) } == "TOKEN_NOT_SPENT")
            try await world.comesBack(operation, to: ben)
            #expect(try await world.ledger.balance(of: ben, .recoveryTokens) == 1)
            #expect(try await world.refund(operation, to: ann) == 1)
            try await world.comesBack(operation, to: ann)
            #expect(try await world.refund(operation, to: ann) == 1)
            #expect(try await world.spend(operation, of: ann) == 0, "a repeat of the first gets the reply of the first")
            #expect(try await world.entries(of: ann) == [.earned, .used, .refunded])
        }
    }

    @Test func `whatever comes at once, tokens are conserved and never below zero`() async throws {
        try await withWorld { world in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for round in 1...300 {
                    tasks.addTask {
                        let user = round % 2 == 0 ? ann : ben
                        // Few ids, so that the same operation comes several times, and before and after its refund.
                        let operation = OperationID(high: 2, low: UInt64((round * 7919) % 60))
                        do {
                            switch (round * 31) % 7 {
                            case 0: try await world.earn(ann, ben, count: Int32(round % 40))
                            case 1, 2, 3: _ = try await world.spend(operation, of: user)
                            case 4: try await world.comesBack(operation, to: user)
                            default: _ = try await world.refund(operation, to: user)
                            }
                        } catch let error as ServiceError
                            where ["NO_RECOVERY_TOKENS", "TOKEN_NOT_SPENT", "REQUEST_IN_PROGRESS"].contains(error.reason)
                        {}
                    }
                }
                try await tasks.waitForAll()
            }
            let wrong = try await world.database.query(
                """
                SELECT a.user_id FROM account a
                WHERE a.kind = 0 AND (a.balance < 0 OR a.balance <> (SELECT coalesce(sum(p.amount), 0) FROM ledger_transaction t
                        JOIN posting p ON p.transaction_id = t.id AND p.kind = 0
                        WHERE t.user_id = a.user_id AND t.currency = a.currency)
                    OR a.version <> (SELECT count(*) FROM ledger_transaction t
                        WHERE t.user_id = a.user_id AND t.currency = a.currency))
                """
            )
            #expect(try await world.ledger.sums().values.allSatisfy { $0 == 0 })
            #expect(wrong.isEmpty)
            let counts = try await world.database.query(
                """
                SELECT count(*) FILTER (WHERE type = 3), count(*) FILTER (WHERE type = 4), count(*) FILTER (WHERE p.balance_after < 0),
                    count(*) FILTER (WHERE type = 4 AND NOT EXISTS (SELECT 1 FROM ledger_transaction s WHERE s.user_id = e.user_id
                        AND s.posting_key = replace(e.posting_key, 'refunded', 'used')))
                FROM ledger_transaction e JOIN posting p ON p.transaction_id = e.id AND p.kind = 0
                """
            )
            let (used, refunded, negative, unpaid) = try #require(
                try counts.first?.decode(as: (Int.self, Int.self, Int.self, Int.self))
            )
            #expect(used > 10 && refunded > 5, "\(used) were spent, \(refunded) came back")
            #expect(refunded <= used && negative == 0 && unpaid == 0)
            let emitted = try await world.database.query("SELECT count(*) FROM outbox").first?.decode(as: Int.self)
            let posted = try await world.database.query("SELECT count(*) FROM ledger_transaction").first?.decode(as: Int.self)
            #expect(emitted == posted, "each posting is emitted once")
        }
    }
}
