import AuthAPI
import Kernel
import Passwords
import Testing

/// A higher cost of passwords reaches those that were set before it (AU-2).
@Suite(.timeLimit(.minutes(2))) struct StrongerHashTests {
    private func hash(of email: String, in world: World) async throws -> String {
        try await world.database.query("SELECT password_hash FROM account WHERE email = \(email)").first?.decode(as: String.self)
            ?? ""
    }

    /// As an account has it that was registered while hashes cost less.
    private func weaken(_ email: String, in world: World) async throws {
        let weak = try await PasswordHasher(cost: 4).hash(
            World.password,
            for: HashRequester(.newPassword, address: nil, deadline: nil)
        )
        _ = try await world.database.execute("UPDATE account SET password_hash = \(weak) WHERE email = \(email)")
    }

    @Test func `a password of a lower cost is hashed anew at the next sign-in, and at no other`() async throws {
        let world = try await World(travelling: true, bcryptCost: 5)
        let email = try #require(try await world.register().user?.email)
        #expect(try await hash(of: email, in: world).hasPrefix("$2b$05$"))
        try await weaken(email, in: world)
        #expect(await reason { try await world.login(email, "wrong-horse-battery") } == "INVALID_CREDENTIALS")
        #expect(try await hash(of: email, in: world).hasPrefix("$2b$04$"), "only its owner has the password at hand")
        _ = try await world.login(email)
        let stronger = try await hash(of: email, in: world)
        #expect(stronger.hasPrefix("$2b$05$"))
        _ = try await world.login(email)
        #expect(try await hash(of: email, in: world) == stronger)
        #expect(await reason { try await world.login(email, "wrong-horse-battery") } == "INVALID_CREDENTIALS")
    }

    @Test func `sign-ins at once all succeed, whichever of them hashes it anew`() async throws {
        let world = try await World(travelling: true, bcryptCost: 5)
        let email = try #require(try await world.register().user?.email)
        for _ in 0..<3 {
            try await weaken(email, in: world)
            let answers = await withTaskGroup(of: String?.self) { group in
                for _ in 0..<4 { group.addTask { await reason { try await world.login(email, from: World.address()) } } }
                return await group.reduce(into: [String?]()) { $0.append($1) }
            }
            #expect(answers == [nil, nil, nil, nil])
            #expect(try await hash(of: email, in: world).hasPrefix("$2b$05$"))
        }
    }
}
