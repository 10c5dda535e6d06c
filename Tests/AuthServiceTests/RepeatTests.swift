import AuthAPI
import Bus
import Kernel
import TestSupport
import Testing

/// Changes that cost a hash, and their repeats (PF-4): no limit and no change of the first sending refuses the others.
@Suite(.timeLimit(.minutes(5))) struct RepeatTests {
    /// As callers do: a request that is being worked on is asked again.
    private static func asking<Reply: Sendable>(_ request: @Sendable () async throws -> Reply) async throws -> Reply {
        while true {
            do { return try await request() } catch let error as ServiceError where error.isInProgress { await Task.yield() }
        }
    }

    @Test func `every sending of a change of the password gets its answer, whichever replica it comes to`() async throws {
        let world = try await World(travelling: true, features: ["", ""])
        for round in 0..<5 {
            let name = World.unique("sam")
            let signedIn = try await world.accounts.register(
                RegisterRequest(email: "\(name)@example.com", password: World.password, username: name),
                context: World.context()
            )
            let user = try #require(signedIn.user?.id)
            let request = ChangePasswordRequest(currentPassword: World.password, newPassword: "another-battery-\(round)")
            let replies = await simultaneously(8) { _ in
                try await Self.asking { try await world.email.changePassword(request, context: World.context(user, key: "k")) }
            }
            let sessions = replies.map { reply in
                do { return "\(try reply.get().sessionsEnded)" } catch { return "\(error)" }
            }
            #expect(sessions == Array(repeating: "1", count: 8))
            _ = try await world.login("\(name)@example.com", "another-battery-\(round)")
        }
    }

    @Test func `every sending of a registration or a sign-in gets the same session`() async throws {
        let world = try await World(travelling: true, features: ["", ""])
        let name = World.unique("tom")
        let request = RegisterRequest(email: "\(name)@example.com", password: World.password, username: name)
        let registered = await simultaneously(8) { _ in
            try await Self.asking { try await world.accounts.register(request, context: World.context(key: "r")).refreshToken }
        }
        let tokens = Set(try registered.map { try $0.get() })
        #expect(tokens.count == 1)
        let login = LoginRequest(email: "\(name)@example.com", password: World.password)
        let signedIn = await simultaneously(8) { _ in
            try await Self.asking { try await world.accounts.login(login, context: World.context(key: "l")).refreshToken }
        }
        let others = Set(try signedIn.map { try $0.get() })
        #expect(others.count == 1 && others != tokens)
    }

    /// They take longer than a gateway waits for a sign before it sends a change again, and one address may not wait for so many hashes.
    @Test func `of registrations from one address on a slow machine those that are refused are not made`() async throws {
        let world = try await World(bcryptCost: 13, features: ["", ""])
        let address = World.address()
        let names = (0..<10).map { _ in World.unique("una") }
        @Sendable func register(_ name: String, from address: String) async throws -> APIReply {
            try await world.call(
                "POST",
                "/api/auth/register",
                #"{"email": "\#(name)@example.com", "password": "\#(World.password)", "username": "\#(name)"}"#,
                from: address
            )
        }
        let replies = await simultaneously(names.count) { try await register(names[$0], from: address) }
        for (name, reply) in zip(names, replies) {
            let reply = try reply.get()
            guard reply.status != 201 else { continue }
            #expect([409, 429, 503, 504].contains(reply.status), "\(reply.text)")
            // What has run out of time, or has not ended (409), may have been made.
            guard reply.status == 429 else { continue }
            var second = reply
            try await eventually("the hashes of the others have ended", within: .seconds(100)) {
                second = try await register(name, from: World.address())
                return second.status != 503
            }
            // Of one that runs out of time here, or has not ended when it does, nothing is known.
            #expect([201, 504].contains(second.status) || second.code == "REQUEST_IN_PROGRESS", "\(second.text)")
        }
    }
}
