import AuthAPI
import Kernel
import NotificationsAPI
import TestSupport
import Testing

@testable import NotificationsCore
@testable import NotificationsPush

/// Whose device is whose, and how long (NO-3).
struct DeviceTests {
    private func ended(_ session: SessionID, of user: UserID) -> SessionsEnded {
        SessionsEnded(userID: user, sessionIDs: [session], endedAt: noon)
    }

    private func tokens(of user: UserID, in world: World) async throws -> [String] {
        try await world.database.query("SELECT token FROM device WHERE user_id = \(user) ORDER BY token").map {
            try $0.decode(as: String.self)
        }
    }

    @Test func `a token that signs in elsewhere moves, and what was queued for its owner before does not reach the new one`()
        async throws
    {
        try await withWorld { world in
            let (ann, ben, cat) = (try await world.person(1), try await world.person(2), try await world.person(3))
            try await world.device(ann, "phone")
            try await world.request(cat, ann)
            #expect(try await world.device(ben, "phone") == 1)
            #expect(try await tokens(of: ann, in: world).isEmpty)
            try await world.push()
            #expect(try world.expo.pushes.isEmpty)
            #expect(try await world.reasons() == ["gone"])
            try await world.request(cat, ben, 8)
            try await world.push()
            #expect(try world.expo.pushes.count == 1)
        }
    }

    @Test func `a device ends with its session, and no request of that session brings it back`() async throws {
        try await withWorld { world in
            let ann = try await world.person(1)
            let (one, two) = (SessionID(high: 9, low: 1), SessionID(high: 9, low: 2))
            try await world.device(ann, "phone", session: one)
            try await world.device(ann, "tablet", session: two)
            try await world.consume(ended(one, of: ann))
            #expect(try await tokens(of: ann, in: world) == [World.token("tablet")])
            let refusal = await #expect(throws: ServiceError.self) { try await world.device(ann, "phone", session: one) }
            #expect(refusal?.reason == "SESSION_REVOKED")
        }
    }

    @Test(arguments: 0..<10) func `a registration and the end of its session at once leave no device`(round: UInt64) async throws
    {
        try await withWorld { world in
            let ann = try await world.person(1)
            for number in 0..<10 {
                let session = SessionID(high: 9, low: round * 100 + UInt64(number))
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    tasks.addTask { _ = try? await world.device(ann, "phone", session: session) }
                    tasks.addTask { try await world.consume(ended(session, of: ann)) }
                    try await tasks.waitForAll()
                }
                #expect(try await tokens(of: ann, in: world).isEmpty)
            }
        }
    }

    @Test func `only tokens of Expo are taken, and users have 20 devices at most`() async throws {
        try await withWorld { world in
            let ann = try await world.person(1)
            let refusal = await #expect(throws: ServiceError.self) {
                let request = RegisterDeviceRequest(pushToken: "fcm:abc", platform: .android)
                _ = try await RegisterDevice(mutations: world.mutations).handle(request, World.by(ann))
            }
            #expect(refusal?.reason == "INVALID_PUSH_TOKEN")
            for number in 0..<25 {
                world.clock.advance(by: .seconds(1))
                #expect(try await world.device(ann, "d\(number)") == Int32(min(number + 1, 20)))
            }
            #expect(try await tokens(of: ann, in: world).contains(World.token("d24")))
            #expect(try await !tokens(of: ann, in: world).contains(World.token("d4")))
        }
    }

    @Test func `a device is removed by its token, or by its session, and by no other user`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            let session = SessionID(high: 9, low: 1)
            let remove = RemoveDevice(mutations: world.mutations)
            try await world.device(ann, "phone", session: session)
            try await world.device(ann, "tablet")
            let token = RemoveDeviceRequest(pushToken: World.token("tablet"))
            #expect(try await remove.handle(token, World.by(ben)).reply.removed == 0)
            #expect(try await remove.handle(RemoveDeviceRequest(), World.by(ann)).reply.removed == 0, "another session")
            #expect(try await remove.handle(token, World.by(ann)).reply.removed == 1)
            #expect(try await remove.handle(RemoveDeviceRequest(), World.by(ann, session: session)).reply.removed == 1)
        }
    }

    @Test func `an account that is deleted leaves no device, push or entry`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await world.device(ann, "phone")
            try await world.posted(ben, for: ann)
            try await world.consume(AccountDeleted(userID: ann, deletedAt: noon, purgeAt: noon + .days(30)))
            for table in ["device", "delivery", "notification", "push_day"] {
                let rows = try await world.database.query("SELECT count(*)::int FROM \(identifier: table)")
                #expect(try rows.first?.decode(as: Int32.self) == 0, "\(table)")
            }
            try await world.push()
            #expect(try world.expo.pushes.isEmpty)
        }
    }
}
