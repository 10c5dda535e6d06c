import Kernel
import SocialAPI
import TestSupport
import Testing

@testable import ServiceRuntime

/// How many blocks and reports of one user are stored (D22).
@Suite(.timeLimit(.minutes(3))) struct QuotaTests {
    private func refusal(_ body: () async throws -> Void) async -> ServiceError? {
        do { try await body() } catch { return error as? ServiceError }
        return nil
    }

    @Test func `a block of one more user is refused beyond the quota, and whom one has blocked before can always be blocked`()
        async throws
    {
        try await withWorld { world in
            let (ann, ben, cem, dan) = (world.person(1), world.person(2), world.person(3), world.person(4))
            var service = world.service
            service.quotas = Quotas(["block": 2])
            func block(_ user: UserID, _ other: UserID) async throws -> Block {
                try await service.blockUser(BlockUserRequest(userID: other), context: World.by(user))
            }
            let first = try await block(ann, ben)
            _ = try await block(ann, cem)
            _ = try await world.events()
            let error = await refusal { _ = try await block(ann, dan) }
            #expect(
                error?.reason == "QUOTA_EXCEEDED" && error?.message.hasPrefix("You have 2 users whom you have blocked") == true
            )
            #expect(try await world.events().isEmpty, "nothing has happened")
            #expect(try await block(ann, ben).blockID == first.blockID)
            _ = try await service.unblockUser(UnblockUserRequest(blockID: first.blockID), context: World.by(ann))
            #expect(try await block(ann, ben).blockID == first.blockID)
            // Only the user's own blocks count.
            _ = try await block(dan, ann)
        }
    }

    @Test func `a report beyond the quota is refused with nothing stored`() async throws {
        try await withWorld { world in
            let ann = world.person(1)
            var service = world.service
            service.quotas = Quotas(["report": 2])
            func report(_ number: UInt64, by user: UserID) async throws {
                let subject = world.person(number).cast(to: Tag.Subject.self)
                let request = ReportRequest(subjectType: .user, subjectID: subject, reason: .spam)
                _ = try await service.report(request, context: World.by(user))
            }
            try await report(2, by: ann)
            try await report(3, by: ann)
            _ = try await world.events()
            let error = await refusal { try await report(4, by: ann) }
            #expect(error?.reason == "QUOTA_EXCEEDED" && error?.message.contains("2 reports") == true)
            #expect(try await world.events().isEmpty)
            #expect(try await world.database.query("SELECT 1 FROM report").count == 2)
            let repeated = await refusal { try await report(2, by: ann) }
            #expect(repeated?.reason == "ALREADY_REPORTED")
            try await report(4, by: world.person(5))
        }
    }
}
