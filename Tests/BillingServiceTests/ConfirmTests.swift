import BillingAPI
import Bus
import Foundation
import Kernel
import TestSupport
import Testing

@testable import BillingMoney

/// Purchases that clients confirm by the store's transaction (BI-5).
struct ConfirmTests {
    private let ann = UserID(high: 1, low: 1)
    private let ben = UserID(high: 1, low: 2)

    @discardableResult
    private func confirm(
        _ world: World,
        _ token: String,
        by user: UserID? = nil,
        _ good: String = "freeze",
        _ count: Int32 = 1,
        operation: UInt64 = 1
    ) async throws -> ConfirmPurchaseReply {
        let request = ConfirmPurchaseRequest(
            operationID: OperationID(high: 6, low: operation),
            userID: user ?? ann,
            transactionID: token,
            good: good,
            count: count
        )
        return try await ConfirmPurchase(
            confirmations: Confirmations(purchases: world.purchases, questions: world.questions),
            mutations: world.mutations
        ).handle(request, World.context()).reply
    }

    private func bought(
        _ id: String,
        _ token: String,
        _ product: String = "streak_freeze",
        quantity: Int = 1,
        cancelled: Bool = false
    )
        -> String
    {
        var fields: [String: Any] = [
            "product_id": product, "transaction_id": token, "price_in_purchased_currency": 0.99, "currency": "EUR",
            "quantity": quantity,
        ]
        if cancelled { fields["cancel_reason"] = "CUSTOMER_SUPPORT" }
        return webhook(
            cancelled ? "CANCELLATION" : "NON_RENEWING_PURCHASE",
            id,
            ann.description,
            at: World.start + (cancelled ? .days(1) : .zero),
            fields
        )
    }

    private func reason(_ body: () async throws -> Void) async -> String? {
        do { try await body() } catch let error as ServiceError { return error.reason } catch { return "\(error)" }
        return nil
    }

    @Test func `the webhook and the call grant once between them, in either order`() async throws {
        try await withWorld { world in
            world.others.add([ann])
            // The webhook first, applied by the job.
            try await world.receive(bought("e1", "t1"))
            try await world.settle()
            let reply = try await confirm(world, "t1")
            #expect(reply.item == "freeze_1" && reply.quantity == 1 && reply.priceMilli == 990)
            #expect(world.others.stock(of: ann) == ["freeze": 1])
            // Stored, and not applied yet: the call has it applied.
            try await world.receive(bought("e2", "t2", "streak_freeze_bundle_5"))
            try await confirm(world, "t2", "freeze", 5, operation: 2)
            try await world.settle()
            #expect(world.others.stock(of: ann) == ["freeze": 6])
            // The same operation again gets the same answer, another does not use it twice.
            #expect(try await confirm(world, "t1") == reply)
            #expect(await reason { _ = try await confirm(world, "t1", operation: 3) } == "PURCHASE_ALREADY_USED")
            #expect(world.others.stock(of: ann) == ["freeze": 6])
        }
    }

    @Test func `foreign, wrong, refunded and unknown transactions are refused`() async throws {
        try await withWorld { world in
            world.others.add([ann, ben])
            try await world.receive(bought("e1", "t1"))
            try await world.settle()
            #expect(await reason { _ = try await confirm(world, "t1", by: ben) } == "PURCHASE_OF_ANOTHER_USER")
            #expect(await reason { _ = try await confirm(world, "t1", "repair", operation: 2) } == "PURCHASE_OF_ANOTHER_PRODUCT")
            #expect(
                await reason { _ = try await confirm(world, "t1", "freeze", 5, operation: 3) } == "PURCHASE_OF_ANOTHER_PRODUCT"
            )
            #expect(await reason { _ = try await confirm(world, "t9", operation: 4) } == "PURCHASE_NOT_FOUND")
            // What was refused is still good for what it bought.
            try await confirm(world, "t1", operation: 5)
            try await world.receive(bought("e2", "t2"))
            try await world.receive(bought("e3", "t2", cancelled: true))
            try await world.settle()
            #expect(await reason { _ = try await confirm(world, "t2", operation: 6) } == "PURCHASE_REFUNDED")
        }
    }

    @Test func `the answer comes when the goods are granted, and a repeat drives them`() async throws {
        try await withWorld { world in
            world.others.add([ann])
            try await world.receive(bought("e1", "t1"))
            world.others.refuse(ServiceError.unavailable())
            #expect(await reason { _ = try await confirm(world, "t1") } == "UNAVAILABLE")
            #expect(world.others.stock(of: ann).isEmpty)
            world.others.refuse(nil)
            try await confirm(world, "t1")
            #expect(world.others.stock(of: ann) == ["freeze": 1])
            try await world.settle()
            #expect(world.others.stock(of: ann) == ["freeze": 1])
        }
    }
}
