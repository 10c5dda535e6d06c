import AuthAPI
import AuthDomain
import Bus
import Cryptography
import Database
import Foundation
import Kernel
import Runtime
import TestSupport
import Testing

@testable import AuthAccounts
@testable import AuthService

/// Keys that change while everything runs, and administrators (AU-3).
@Suite(.serialized, .timeLimit(.minutes(5))) struct KeyTests {
    private func published(_ world: World) async throws -> [String] {
        try await world.accounts.getSigningKeys(GetSigningKeysRequest(), context: World.context()).keys.map(\.kid)
    }

    private func signer(_ token: String) throws -> String? {
        let part = token.prefix { $0 != "." }.replacing("-", with: "+").replacing("_", with: "/")
        let data = try #require(Data(base64Encoded: part + String(repeating: "=", count: (4 - part.utf8.count % 4) % 4)))
        return (try JSONSerialization.jsonObject(with: data) as? [String: Any])?["kid"] as? String
    }

    /// A key as if it had been made some time ago.
    private func plant(_ world: World, made ago: Interval) throws {
        let file = try AuthCommands.rotateKey(folder: world.keyFolder.path).prefix { $0 != ":" }
        let name = KeySchedule.name(now: SystemClock.now() - ago)
        try FileManager.default.moveItem(atPath: String(file), toPath: world.keyFolder.appendingPathComponent(name).path)
    }

    @Test func `the published keys are signed by the key of the deployment, where it has one`() async throws {
        let world = try await World()
        let unsigned = try await world.accounts.getSigningKeys(GetSigningKeysRequest(), context: World.context())
        #expect(unsigned.keys.count == 1 && unsigned.signature.isEmpty && unsigned.signedAt == 0)
        await world.stopLastReplica()
        let pem = try Ed25519.PrivateKey().pem()
        try await world.addReplica(key: pem)
        let signed = try await world.accounts.getSigningKeys(GetSigningKeysRequest(), context: World.context())
        let key = try #require(ServiceKey(settingText: pem))
        let known = try #require(ServicePublicKeys(settingText: "auth=\(key.publicText)"))
        func statement(_ keys: [SigningKey]) -> ServiceStatement {
            .tokenKeys(
                service: "auth",
                signedAt: signed.signedAt,
                keys: keys.map { (kty: $0.kty, crv: $0.crv, kid: $0.kid, x: $0.x, y: $0.y) }
            )
        }
        #expect(signed.keys.map(\.kid) == unsigned.keys.map(\.kid))
        #expect(known.verify(signed.signature, of: statement(signed.keys), by: "auth"))
        #expect(!known.verify(signed.signature, of: statement(signed.keys + signed.keys), by: "auth"))
        #expect((SystemClock.now() - .minutes(5)...SystemClock.now()).contains(Instant(seconds: signed.signedAt)))
    }

    @Test func `a new key is published while the service runs, signs a minute later, and the old one stays for its tokens`()
        async throws
    {
        let world = try await World()
        let person = try await world.register()
        let first = try await published(world)
        #expect(first.count == 1)
        #expect(try signer(person.accessToken) == first[0])
        _ = try AuthCommands.rotateKey(folder: world.keyFolder.path)
        try await eventually("the new key is published") { try await published(world).count == 2 }
        #expect(try signer(try await world.register().accessToken) == first[0], "gateways do not have it yet")
        // The same as a minute later.
        for name in try FileManager.default.contentsOfDirectory(atPath: world.keyFolder.path) where name.hasSuffix("Z.pem") {
            try FileManager.default.removeItem(at: world.keyFolder.appendingPathComponent(name))
        }
        try plant(world, made: .minutes(2))
        var token = ""
        try await eventually("it signs") {
            token = try await world.register().accessToken
            return try signer(token) != first[0]
        }
        #expect(try await published(world).contains(first[0]), "the old one is still published")
        #expect(try await world.call("GET", "/api/users/me", token: person.accessToken).status == 200)
        try await eventually("the gateway has the new one", within: .seconds(60)) {
            try await world.call("GET", "/api/users/me", token: token).status == 200
        }
        // Half an hour later nothing that the first key signed is alive.
        for name in try FileManager.default.contentsOfDirectory(atPath: world.keyFolder.path) where name.hasSuffix("Z.pem") {
            try FileManager.default.removeItem(at: world.keyFolder.appendingPathComponent(name))
        }
        try plant(world, made: .minutes(30))
        try await eventually("the first key retires") { try await !published(world).contains(first[0]) }
    }

    @Test func `replicas that start at once with an empty folder make one key between them`() async throws {
        for _ in 0..<20 {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("keys-\(UUID())")
            defer { try? FileManager.default.removeItem(at: folder) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { _ = try KeyFolder(path: folder.path).schedule(now: SystemClock.now()) } }
                try await group.waitForAll()
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["0001.pem"])
        }
    }

    @Test func `a file that is no key changes nothing`() async throws {
        let world = try await World(travelling: true)
        let before = try await published(world)
        let file = world.keyFolder.appendingPathComponent("9999.pem")
        try "no key".write(to: file, atomically: true, encoding: .utf8)
        // The job has looked when something that came later has been taken up.
        for _ in 0..<3 {
            try await Task.sleep(for: .seconds(3))
            #expect(try await published(world) == before)
        }
        try FileManager.default.removeItem(at: file)
        _ = try AuthCommands.rotateKey(folder: world.keyFolder.path)
        try await eventually("a real one is taken up") { try await published(world).count == 2 }
    }

    @Test func `an administrator is made and unmade, and the tokens follow within seconds`() async throws {
        let world = try await World.shared.value
        let person = try await world.register("root")
        let email = try #require(person.user?.email)
        for isAdmin in [true, false] {
            var session = try await world.login(email)
            let text = try await AuthCommands.setAdmin(
                email: email.uppercased(),
                isAdmin: isAdmin,
                databaseURL: world.databaseURL
            )
            #expect(text.contains(isAdmin ? "is an administrator" : "no longer an administrator"))
            try await eventually("the token of before is refused", within: .seconds(60)) {
                try await world.call("GET", "/api/users/me", token: session.accessToken).code == "SESSION_REVOKED"
            }
            let refresh = RefreshRequest(refreshToken: session.refreshToken)
            let refused = await reason { try await world.accounts.refresh(refresh, context: World.context()) }
            #expect(refused == "INVALID_REFRESH_TOKEN")
            session = try await world.login(email)
            #expect(session.user?.isAdmin == isAdmin)
            #expect(try await world.call("GET", "/api/users/me", token: session.accessToken).bool("is_admin") == isAdmin)
        }
        let url = world.databaseURL
        #expect(
            await reason { try await AuthCommands.setAdmin(email: "no@body.x", isAdmin: true, databaseURL: url) } == "NOT_FOUND"
        )
    }

    @Test func `a session that begins right after all were ended is not ended with them`() async throws {
        let world = try await World.shared.value
        let person = try await world.register("mo")
        let email = try #require(person.user?.email)
        for _ in 0..<5 {
            let session = try await world.login(email)
            let ended = try await world.call("POST", "/api/auth/logout?all=true", token: session.accessToken)
            #expect(ended.status == 200, "\(ended.text)")
            let anew = try await world.login(email)
            try await eventually("the one before is refused") {
                try await world.call("GET", "/api/users/me", token: session.accessToken).code == "SESSION_REVOKED"
            }
            #expect(try await world.call("GET", "/api/users/me", token: anew.accessToken).status == 200)
        }
    }
}
