import AuthAPI
import Bus
import Kernel
import Testing

/// Features of `auth` on different replicas (D14).
@Suite(.serialized, .timeLimit(.minutes(5))) struct FeatureTests {
    @Test func `profiles are served by a replica without signing keys, sign-ins by another`() async throws {
        let world = try await World(travelling: true, features: ["accounts", "profiles"])
        let session = try await world.register("ann")
        let user = try #require(session.user)
        let context = { World.context(user.id) }
        #expect(try await world.profiles.getMe(GetMeRequest(), context: context()) == user)
        _ = try await world.profiles.updateMe(UpdateMeRequest(displayName: "Ann Lee"), context: context())
        let refresh = RefreshRequest(refreshToken: session.refreshToken)
        let refreshed = try await world.accounts.refresh(refresh, context: World.context())
        #expect(refreshed.user?.displayName == "Ann Lee", "both stand on the same accounts")
        await world.stopLastReplica()
        let error = await #expect(throws: ServiceError.self) {
            try await world.profiles.getMe(GetMeRequest(), context: context())
        }
        #expect(error?.code == .unavailable, "the replica with accounts only does not answer for profiles")
        let email = try #require(refreshed.user?.email)
        #expect(try await world.login(email).user?.id == user.id, "and goes on with its own")
    }
}
