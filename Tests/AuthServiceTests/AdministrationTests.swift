import AuthAPI
import AuthDomain
import Bus
import CommonAPI
import Database
import Foundation
import Kernel
import TestSupport
import Testing

@testable import AuthAccounts
@testable import AuthCore

/// What administrators see of accounts and do to them, and the audit log of it.
@Suite(.serialized, .timeLimit(.minutes(5))) struct AdministrationTests {
    private func client(_ world: World) -> AdministrationClient { AdministrationClient(world.bus) }

    /// A new administrator's id, context and token.
    private func administrator(_ world: World) async throws -> (id: UserID, context: CallContext, token: String) {
        let reply = try await world.register("grace")
        let (id, email) = (try #require(reply.user?.id), try #require(reply.user?.email))
        _ = try await world.database.execute("UPDATE auth.account SET is_admin = true WHERE id = \(id)")
        return (id, World.context(id, role: .admin), try await world.login(email).accessToken)
    }

    private func log(_ world: World, of user: UserID, by admin: UserID) async throws -> [AdminActionEntry] {
        try await client(world).listAdminActions(
            ListAdminActionsRequest(adminID: admin, userID: user),
            context: World.context(admin, role: .admin)
        ).actions
    }

    @Test func `what is typed is an id, an address or the beginning of a name`() {
        let id = UserID("0190f3a2-0000-7000-8000-000000000001")
        #expect(AccountSearch("  ") == .everyone)
        #expect(id.map { AccountSearch(" \($0) ") == .id($0) } == true)
        #expect(AccountSearch("Ada@Example.com") == .email("ada@example.com"))
        #expect(AccountSearch(" Ada Love") == .name("ada love"))
    }

    @Test func `accounts are found by address, name and id, page by page, and each that is shown is in the audit log`()
        async throws
    {
        let world = try await World.shared.value
        let admin = try await administrator(world)
        let stem = World.unique("finn")
        var users: [UserID] = []
        for end in ["a", "b", "c"] {
            let reply = try await world.accounts.register(
                RegisterRequest(
                    email: "\(stem)\(end)@example.com",
                    password: World.password,
                    username: "\(stem)\(end)".replacing(".", with: "_")
                ),
                context: World.context()
            )
            users.append(try #require(reply.user?.id))
        }
        let client = client(world)
        func ids(_ q: String, limit: Int32 = 0, cursor: String = "") async throws -> ([UserID], String?) {
            let request = ListAccountsRequest(q: q, limit: limit, cursor: cursor)
            let reply = try await client.listAccounts(request, context: admin.context)
            return (reply.accounts.map(\.userID), reply.meta?.nextCursor)
        }
        #expect(try await ids("\(stem.uppercased())B@ex").0 == [users[1]])
        #expect(try await ids("\(users[2])").0 == [users[2]])
        let first = try await ids(stem.replacing(".", with: "_"), limit: 2)
        #expect(first.0 == [users[0], users[1]])
        let second = try await ids(stem.replacing(".", with: "_"), limit: 2, cursor: try #require(first.1))
        #expect(second.0 == [users[2]] && second.1 == nil)
        // By the display name, which is the address's local part here: with a dot, as no username has it.
        #expect(try await ids(stem).0 == users)
        #expect(try await ids("\(stem)x").0.isEmpty)
        let entries = try await log(world, of: users[2], by: admin.id)
        #expect(entries.map(\.kind) == Array(repeating: .listAccount, count: 3), "\(entries)")
        #expect(entries.allSatisfy { $0.requestID == admin.context.requestID && $0.userID == users[2] })
    }

    @Test func `an account is shown with its open sessions, and whose it is stays in the log`() async throws {
        let world = try await World.shared.value
        let admin = try await administrator(world)
        let person = try await world.register("gil")
        let (id, email) = (try #require(person.user?.id), try #require(person.user?.email))
        _ = try await world.login(email)
        _ = try await world.accounts.refresh(RefreshRequest(refreshToken: person.refreshToken), context: World.context())
        let shown = try await client(world).getAccount(GetAccountRequest(userID: id), context: admin.context)
        #expect(shown.account?.email == email && shown.standing?.status == .active && shown.hasPassword)
        #expect(shown.sessions.count == 2)
        let (renewed, new) = (try #require(shown.sessions.first), try #require(shown.sessions.last))
        let (used, expires) = (try #require(renewed.lastUsedAt), try #require(renewed.expiresAt))
        let created = try #require(renewed.createdAt)
        #expect(used > created && expires - used == .days(60), "the one that was used last comes first")
        #expect(new.lastUsedAt == new.createdAt, "its token was not renewed yet")
        let ended = try await client(world).signOutAccount(SignOutAccountRequest(userID: id), context: admin.context)
        #expect(ended.sessionsEnded == 2)
        #expect(try await world.call("GET", "/api/users/me", token: person.accessToken).code == "SESSION_REVOKED")
        let after = try await client(world).getAccount(GetAccountRequest(userID: id), context: admin.context)
        #expect(after.sessions.isEmpty)
        #expect(try await log(world, of: id, by: admin.id).map(\.kind) == [.readAccount, .signOutAccount, .readAccount])
        let none = UserID(high: 1, low: 1)
        #expect(
            await reason { try await client(world).getAccount(GetAccountRequest(userID: none), context: admin.context) }
                == "NOT_FOUND"
        )
    }

    @Test func `a suspended account is signed out and shut until the suspension is lifted`() async throws {
        let world = try await World.shared.value
        let admin = try await administrator(world)
        let person = try await world.register("hal")
        let (id, email) = (try #require(person.user?.id), try #require(person.user?.email))
        let client = client(world)
        let until = world.now() + .days(3)
        let request = SuspendAccountRequest(userID: id, reason: "Threats", until: until)
        let standing = try await client.suspendAccount(request, context: admin.context)
        #expect(standing.status == .suspended && standing.suspendedUntil == until)
        #expect(try await world.call("GET", "/api/users/me", token: person.accessToken).code == "SESSION_REVOKED")
        #expect(await reason { try await world.login(email) } == "ACCOUNT_SUSPENDED")
        // A shorter one changes nothing.
        let shorter = SuspendAccountRequest(userID: id, reason: "Again", until: world.now() + .days(1))
        #expect(try await client.suspendAccount(shorter, context: admin.context).suspendedUntil == until)
        let lift = LiftSuspensionRequest(userID: id, reason: "A mistake")
        #expect(try await client.liftSuspension(lift, context: admin.context).status == .active)
        _ = try await world.login(email)
        #expect(await reason { try await client.liftSuspension(lift, context: admin.context) } == "ACCOUNT_NOT_SUSPENDED")
        let entries = try await log(world, of: id, by: admin.id)
        #expect(entries.map(\.kind) == [.liftSuspension, .suspendAccount, .suspendAccount])
        #expect(entries.last?.detail.hasSuffix(": Threats") == true && entries.first?.detail == "A mistake")
    }

    @Test func `no administrator suspends themselves, and an end must lie ahead within ten years`() async throws {
        let world = try await World.shared.value
        let admin = try await administrator(world)
        let client = client(world)
        let own = SuspendAccountRequest(userID: admin.id, reason: "Me")
        #expect(await reason { try await client.suspendAccount(own, context: admin.context) } == "CANNOT_MODERATE_SELF")
        let id = try #require(try await world.register("ivy").user?.id)
        for until in [world.now() - .seconds(1), world.now() + .days(4_000)] {
            let request = SuspendAccountRequest(userID: id, reason: "No", until: until)
            do {
                _ = try await client.suspendAccount(request, context: admin.context)
                Issue.record("\(until) was accepted")
            } catch let error as ServiceError { #expect(error.details.map(\.field) == ["until"], "\(error)") }
        }
        #expect(try await log(world, of: id, by: admin.id).isEmpty, "what was refused was not done")
    }

    @Test func `who is no administrator gets 403 from each route, and a caller without a token 401`() async throws {
        let world = try await World.shared.value
        let person = try await world.register("jo")
        let id = try #require(person.user?.id)
        let reason = "{\"reason\":\"x\"}"
        let routes: [(String, String, String?)] = [
            ("GET", "/api/admin/accounts", nil), ("GET", "/api/admin/accounts/\(id)", nil),
            ("POST", "/api/admin/accounts/\(id)/suspend", reason), ("DELETE", "/api/admin/accounts/\(id)/suspension", reason),
            ("DELETE", "/api/admin/accounts/\(id)/sessions", nil), ("POST", "/api/admin/accounts/\(id)/restore", nil),
            ("GET", "/api/admin/actions", nil), ("GET", "/api/admin/users", nil), ("GET", "/api/admin/users/\(id)", nil),
        ]
        for (method, path, body) in routes {
            let reply = try await world.call(method, path, body, token: person.accessToken)
            #expect(reply.status == 403 && reply.code == "ADMIN_ONLY", "\(method) \(path): \(reply.text)")
            #expect(try await world.call(method, path, body).status == 401, "\(method) \(path)")
        }
        // A caller on the bus gets no further.
        let context = World.context(id)
        #expect(await AuthServiceTests.reason { try await client(world).listAccounts(.init(), context: context) } == "ADMIN_ONLY")
        #expect(
            await AuthServiceTests.reason { try await client(world).listAdminActions(.init(), context: context) } == "ADMIN_ONLY"
        )
        let admin = try await administrator(world)
        let reply = try await world.call("GET", "/api/admin/accounts?q=\(person.user?.username ?? "")", token: admin.token)
        #expect(reply.status == 200, "\(reply.text)")
    }

    @Test func `accounts are also served below the path of users`() async throws {
        let world = try await World.shared.value
        let person = try await world.register("jo")
        let (admin, id) = (try await administrator(world), try #require(person.user?.id))
        for query in ["?q=\(person.user?.username ?? "")", "/\(id)"] {
            let reply = try await world.call("GET", "/api/admin/users\(query)", token: admin.token)
            #expect(reply.status == 200 && reply.text.contains("\(id)"), "\(reply.text)")
        }
    }

    @Test func `the log is never changed, but for the words about a person, which go with the account`() async throws {
        let world = try await World.shared.value
        let admin = try await administrator(world)
        let id = try #require(try await world.register("kay").user?.id)
        _ = try await client(world).suspendAccount(SuspendAccountRequest(userID: id, reason: "Words"), context: admin.context)
        for statement: Query in [
            "DELETE FROM auth.admin_action", "UPDATE auth.admin_action SET admin_id = subject_id",
            "UPDATE auth.admin_action SET detail = 'other'", "TRUNCATE auth.admin_action",
        ] {
            await #expect(throws: DatabaseError.self) { _ = try await world.database.execute(statement) }
        }
        try await world.database.transaction { try await AdminActionRepository.deleteDetails(about: id, $0) }
        let entries = try await log(world, of: id, by: admin.id)
        #expect(entries.map(\.kind) == [.suspendAccount] && entries.first?.detail == "")
    }
}
