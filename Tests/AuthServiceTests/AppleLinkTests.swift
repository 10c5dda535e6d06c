import AuthAPI
import Bus
import Foundation
import Kernel
import TestSupport
import Testing

/// An Apple user that is linked to an account with a password (AU-5): the account belongs to who owns the address from then on.
@Suite(.serialized, .timeLimit(.minutes(5))) struct AppleLinkTests {
    /// An account with a password, whose address is verified: by a mail that another than who registered may have followed.
    private struct Holder {
        let session: SignInReply
        let id: UserID
        let email: String

        init(_ name: String, in world: World) async throws {
            session = try await world.register(name)
            (id, email) = (try #require(session.user?.id), try #require(session.user?.email))
            try await world.database.execute("UPDATE account SET email_verified_at = now() WHERE email = \(email)")
        }
    }

    private func signIn(_ world: World, _ claims: Claims, password: String? = nil) async throws -> APIReply {
        let token = try world.apple.token(claims.json(world.now()))
        let more = password.map { ",\"password\":\"\($0)\"" } ?? ""
        return try await world.call("POST", "/api/auth/apple", "{\"identity_token\":\"\(token)\"\(more)}")
    }

    private func isEnded(_ session: SignInReply, in world: World) async throws {
        let refresh = RefreshRequest(refreshToken: session.refreshToken)
        #expect(await reason { try await world.accounts.refresh(refresh, context: World.context()) } == "INVALID_REFRESH_TOKEN")
        try await eventually("the access token is refused") {
            try await world.call("GET", "/api/users/me", token: session.accessToken).code == "SESSION_REVOKED"
        }
    }

    @Test func `linking ends the other sessions, the old password and links for another address, and says so by mail`()
        async throws
    {
        let world = try await World.shared.value
        let holder = try await Holder("cam", in: world)
        let second = try await world.login(holder.email)
        let foreign = "\(World.unique("mallory"))@example.org"
        let change = ChangeEmailRequest(email: foreign, password: World.password)
        _ = try await world.email.changeEmail(change, context: World.context(holder.id))
        let link = try await world.mailbox.token(.emailChangeConfirm, to: foreign)

        let claims = Claims(email: holder.email)
        let linked = try await signIn(world, claims)
        #expect(linked.status == 200 && linked.string("user", "id") == holder.id.description, "\(linked.text)")
        for session in [holder.session, second] { try await isEnded(session, in: world) }
        #expect(try await world.call("GET", "/api/users/me", token: linked.string("access_token")).status == 200)
        #expect(await reason { try await world.login(holder.email) } == "INVALID_CREDENTIALS")
        let verify = VerifyEmailRequest(token: link)
        #expect(await reason { try await world.email.verifyEmail(verify, context: World.context()) } == "EMAIL_TOKEN_SUPERSEDED")
        _ = try await world.mailbox.newest(.appleLinkedPasswordRemoved, to: holder.email)

        // Later sign-ins end nothing, and the owner of the address may set a password again.
        let later = try await signIn(world, claims)
        #expect(try await world.call("GET", "/api/users/me", token: linked.string("access_token")).status == 200, "\(later.text)")
        let forgot = RequestPasswordResetRequest(email: holder.email)
        _ = try await world.email.requestPasswordReset(forgot, context: World.context(from: World.address()))
        let token = try await world.mailbox.token(.passwordReset, to: holder.email)
        let reset = ResetPasswordRequest(token: token, newPassword: "another-horse")
        _ = try await world.email.resetPassword(reset, context: World.context())
        #expect(try await world.login(holder.email, "another-horse").user?.id == holder.id)
        #expect(world.mailbox.mails(to: holder.email, .appleLinkedPasswordRemoved).count == 1)
    }

    @Test func `a password that is confirmed stays, and a wrong one links nothing`() async throws {
        let world = try await World.shared.value
        let holder = try await Holder("dee", in: world)
        let claims = Claims(email: holder.email)
        let wrong = try await signIn(world, claims, password: "wrong password")
        #expect(wrong.status == 403 && wrong.code == "WRONG_PASSWORD", "\(wrong.text)")
        #expect(try await world.call("GET", "/api/users/me", token: holder.session.accessToken).status == 200)
        #expect(try await world.database.query("SELECT 1 FROM auth.apple_identity WHERE subject = \(claims.sub)").isEmpty)

        let linked = try await signIn(world, claims, password: World.password)
        #expect(linked.status == 200 && linked.string("user", "id") == holder.id.description, "\(linked.text)")
        try await isEnded(holder.session, in: world)
        #expect(try await world.login(holder.email).user?.id == holder.id)
        _ = try await world.mailbox.newest(.appleLinked, to: holder.email)
        #expect(world.mailbox.mails(to: holder.email, .appleLinkedPasswordRemoved).isEmpty)
        #expect(try await signIn(world, claims, password: "without meaning now").status == 200)
    }

    @Test func `ten wrong passwords are the limit here as in a sign-in`() async throws {
        let world = try await World.shared.value
        let holder = try await Holder("eli", in: world)
        let claims = Claims(email: holder.email)
        for _ in 0..<10 { #expect(try await signIn(world, claims, password: "wrong password").code == "WRONG_PASSWORD") }
        #expect(try await signIn(world, claims, password: World.password).code == "RATE_LIMITED")
    }

    @Test func `an account that was linked does not end with the Apple Account, although its password has gone`() async throws {
        let world = try await World.shared.value
        let holder = try await Holder("fay", in: world)
        let claims = Claims(email: holder.email)
        #expect(try await signIn(world, claims).status == 200)
        var event = Claims(claims.sub)
        let time = world.now().milliseconds
        let text = "{\"type\":\"account-delete\",\"sub\":\"\(claims.sub)\",\"event_time\":\(time)}"
        event.more = ",\"jti\":\"\(UUID().uuidString)\",\"events\":\(text)"
        let payload = try world.apple.token(event.json(world.now()))
        let reply = try await world.call("POST", "/api/webhooks/apple", "{\"payload\":\"\(payload)\"}")
        #expect(reply.bool("applied") == true, "\(reply.text)")
        let deleted = try await world.database.query(
            "SELECT deleted_at IS NOT NULL FROM auth.account WHERE email = \(holder.email)"
        )
        #expect(try deleted.first?.decode(as: Bool.self) == false)
    }
}
