import AuthAPI
import Bus
import Database
import Foundation
import Kernel
import NotificationsAPI
import TestSupport
import Testing

@testable import AuthService

/// The second factor of administrators, from enrolment to a lost phone.
@Suite(.serialized, .timeLimit(.minutes(5))) struct SecondFactorTests {
    private let path = "/api/auth/second-factor"

    /// An administrator with a second factor, who has signed in with a code of it.
    private struct Admin {
        let id: UserID
        let email: String
        let token: String
        let refreshToken: String
        let app: Authenticator
        /// The step of that code: it and all before it are used up.
        let used: Int64
        let recoveryCodes: [String]
    }

    private func password(_ word: String = World.password, _ code: String? = nil) -> String {
        "{\"password\":\"\(word)\"\(code.map { ",\"code\":\"\($0)\"" } ?? "")}"
    }

    private func login(
        _ world: World,
        _ email: String,
        _ code: String? = nil,
        word: String = World.password,
        from address: String? = nil
    )
        async throws -> APIReply
    {
        let code = code.map { ",\"code\":\"\($0)\"" } ?? ""
        return try await world.call(
            "POST",
            "/api/auth/login",
            "{\"email\":\"\(email)\",\"password\":\"\(word)\"\(code)}",
            from: address
        )
    }

    /// An administrator without a second factor.
    private func administrator(_ world: World) async throws -> (id: UserID, email: String, token: String) {
        let user = try #require(try await world.register("grace").user)
        _ = try await world.database.execute("UPDATE auth.account SET is_admin = true WHERE id = \(user.id)")
        let token = try #require(try await login(world, user.email).string("access_token"))
        return (user.id, user.email, token)
    }

    private func enrolled(_ world: World) async throws -> Admin {
        let (id, email, token) = try await administrator(world)
        let started = try await world.call("POST", path, password(), token: token)
        try #require(started.status == 201, "\(started.text)")
        let app = Authenticator(secret: try #require(started.string("secret")))
        let confirmed = try await world.call("POST", path + "/confirm", "{\"code\":\"\(app.code())\"}", token: token)
        try #require(confirmed.status == 200, "\(confirmed.text)")
        let used = Authenticator.step + 1
        let session = try await login(world, email, app.code(step: used))
        return Admin(
            id: id,
            email: email,
            token: try #require(session.string("access_token"), "\(session.text)"),
            refreshToken: try #require(session.string("refresh_token")),
            app: app,
            used: used,
            recoveryCodes: confirmed.strings("recovery_codes")
        )
    }

    /// As if the codes that were used were long ago.
    private func wait(_ world: World, _ id: UserID) async throws {
        _ = try await world.database.execute("UPDATE auth.second_factor SET last_step = 0 WHERE account_id = \(id)")
    }

    private func log(_ world: World, of user: UserID) async throws -> [AdminActionEntry] {
        try await AdministrationClient(world.bus).listAdminActions(
            ListAdminActionsRequest(userID: user),
            context: World.context(user, role: .admin)
        ).actions
    }

    @Test func `an administrator gets a second factor with the password and a first code, and no other user does`() async throws {
        let world = try await World.shared.value
        let (id, email, token) = try await administrator(world)
        let other = try #require(try await login(world, email).string("access_token"))
        let none = try await world.call("GET", path, token: token)
        #expect(none.isNull("enrolled_at") && none.int("recovery_codes_left") == 0 && none.bool("required") == false)
        #expect(try await world.call("POST", path, password("not it"), token: token).code == "WRONG_PASSWORD")
        #expect(try await world.call("POST", path, "{}", token: token).code == "VALIDATION_ERROR")
        let confirm = path + "/confirm"
        #expect(try await world.call("POST", confirm, "{\"code\":\"123456\"}", token: token).code == "SECOND_FACTOR_NOT_STARTED")
        let user = try await world.register("ulf")
        #expect(try await world.call("POST", path, password(), token: user.accessToken).code == "SECOND_FACTOR_ADMINS_ONLY")
        #expect(
            try await world.call("POST", confirm, "{\"code\":\"123456\"}", token: user.accessToken).code
                == "SECOND_FACTOR_ADMINS_ONLY"
        )
        #expect(
            try await world.call("DELETE", path, password(World.password, "1"), token: user.accessToken).code
                == "SECOND_FACTOR_NOT_ENROLLED"
        )

        let started = try await world.call("POST", path, password(), token: token)
        let secret = try #require(started.string("secret"), "\(started.text)")
        #expect(secret.count == 32 && started.string("otpauth_uri")?.contains("secret=\(secret)&") == true)
        #expect(try await login(world, email).status == 200, "it does not count yet")
        let app = Authenticator(secret: secret)
        let wrong = try await world.call("POST", confirm, "{\"code\":\"\(app.wrongCode)\"}", token: token)
        #expect(wrong.status == 403 && wrong.code == "SECOND_FACTOR_INVALID")
        let confirmed = try await world.call("POST", confirm, "{\"code\":\"\(app.code())\"}", token: token)
        #expect(confirmed.strings("recovery_codes").count == 10, "\(confirmed.text)")
        #expect(confirmed.int("sessions_ended") ?? 0 >= 2, "the other sign-ins showed no code")
        #expect(try await world.call("GET", "/api/users/me", token: other).code == "SESSION_REVOKED")
        let state = try await world.call("GET", path, token: token)
        #expect(!state.isNull("enrolled_at") && state.int("recovery_codes_left") == 10, "\(state.text)")
        #expect(try await log(world, of: id).map(\.kind) == [.enrolSecondFactor])
        _ = try await world.mailbox.newest(.secondFactorEnrolled, to: email)
        // Neither the secret nor a recovery code can be read in the tables.
        let rows = try await world.database.query(
            "SELECT secret FROM auth.second_factor WHERE account_id = \(id) UNION ALL SELECT code_hash FROM auth.recovery_code"
        )
        let plain = [Array(secret.utf8)] + confirmed.strings("recovery_codes").map { Array($0.utf8) }
        for row in rows {
            let stored = try row.decode(as: [UInt8].self)
            #expect(plain.allSatisfy { !stored.starts(with: $0) } && stored.count >= 32)
        }
    }

    @Test func `a sign-in needs the password and a code that was not used, on every replica and after a restart`() async throws {
        let world = try await World()
        let admin = try await enrolled(world)
        let asked = try await login(world, admin.email)
        #expect(
            asked.status == 403 && asked.code == "SECOND_FACTOR_REQUIRED" && asked.string("access_token") == nil,
            "\(asked.text)"
        )
        // With a wrong password nothing shows that there is a second factor, whatever the code.
        for code in [nil, admin.app.code(), admin.app.wrongCode] {
            let refused = try await login(world, admin.email, code, word: "not it")
            #expect(refused.status == 401 && refused.code == "INVALID_CREDENTIALS")
        }
        // The codes of this step and of the one before are used up with that of the next one.
        let old = (-2...0).map { admin.app.code(step: admin.used + $0) }
        for code in old + [admin.app.wrongCode, "x", "12345678901234567890"] {
            #expect(try await login(world, admin.email, code).code == "SECOND_FACTOR_INVALID", "\(code)")
        }
        try await wait(world, admin.id)
        let code = admin.app.code()
        #expect(try await login(world, admin.email, code).status == 200)
        try await world.addReplica()
        for _ in 0..<3 { #expect(try await login(world, admin.email, code).code == "SECOND_FACTOR_INVALID") }
        try await world.replaceReplicas()
        try await wait(world, admin.id)
        try await eventually("the new replica answers") { try await login(world, admin.email).code == "SECOND_FACTOR_REQUIRED" }
        #expect(try await login(world, admin.email, admin.app.code()).status == 200)
    }

    @Test func `a repeat of a sign-in with its key gets the first answer, although the code is used up`() async throws {
        let world = try await World.shared.value
        let admin = try await enrolled(world)
        try await wait(world, admin.id)
        let body = "{\"email\":\"\(admin.email)\",\"password\":\"\(World.password)\",\"code\":\"\(admin.app.code())\"}"
        let key = UUID().uuidString
        let first = try await world.call("POST", "/api/auth/login", body, key: key)
        let second = try await world.call("POST", "/api/auth/login", body, key: key)
        #expect(first.status == 200 && second.string("access_token") == first.string("access_token"), "\(second.text)")
        #expect(try await world.call("POST", "/api/auth/login", body).code == "SECOND_FACTOR_INVALID")
    }

    @Test func `after ten wrong codes even the right one must wait, however many are tried at once`() async throws {
        let world = try await World()
        let admin = try await enrolled(world)
        let app = admin.app
        let answers = await withTaskGroup(of: String.self) { group in
            for _ in 0..<30 { group.addTask { await answer(world, admin.email, app.wrongCode) } }
            return await group.reduce(into: [String]()) { $0.append($1) }
        }
        #expect(answers.filter { $0 == "SECOND_FACTOR_INVALID" }.count <= 10, "\(answers)")
        #expect(Set(answers).isSubset(of: ["SECOND_FACTOR_INVALID", "RATE_LIMITED", "UNAVAILABLE"]), "\(answers)")
        for _ in 0..<10 { _ = await answer(world, admin.email, app.wrongCode) }
        try await wait(world, admin.id)
        for code in [app.code(), nil, admin.recoveryCodes[0]] {
            #expect(try await login(world, admin.email, code).code == "RATE_LIMITED")
        }
        #expect(try await login(world, admin.email, word: "not it").code == "RATE_LIMITED", "codes and passwords count together")
        // A new password by mail, which is no way to more guesses.
        let before = world.mailbox.mails(to: admin.email, .passwordReset).count
        _ = try await world.email.requestPasswordReset(.init(email: admin.email), context: World.context())
        let token = try await world.mailbox.token(.passwordReset, to: admin.email, count: before + 1)
        let reset = ResetPasswordRequest(token: token, newPassword: "battery-horse-staple")
        _ = try await world.email.resetPassword(reset, context: World.context())
        #expect(try await login(world, admin.email, app.code(), word: "battery-horse-staple").code == "RATE_LIMITED")
        // A quarter of an hour later.
        _ = try await world.database.execute("UPDATE auth.login_failure SET failed_at = '{}'")
        #expect(try await login(world, admin.email, app.code(), word: "battery-horse-staple").status == 200)
        let count = try await world.database.query(
            "SELECT count(*) FROM auth.login_failure WHERE expires_at > now() AND cardinality(failed_at) > 0"
        ).first?.decode(as: Int.self)
        #expect(count == 0, "what was right is not counted as a failure, of the address neither")
    }

    private func answer(_ world: World, _ email: String, _ code: String) async -> String {
        do { return try await login(world, email, code).code ?? "in" } catch { return "\(error)" }
    }

    @Test func `a recovery code works once, for a sign-in or for a new phone`() async throws {
        let world = try await World.shared.value
        let admin = try await enrolled(world)
        // Of mails to an address that is not verified some are left out.
        _ = try await world.database.execute("UPDATE auth.account SET email_verified_at = now() WHERE id = \(admin.id)")
        let typed = admin.recoveryCodes[3].lowercased().replacing("-", with: " ")
        let session = try await login(world, admin.email, typed)
        let token = try #require(session.string("access_token"), "\(session.text)")
        #expect(try await login(world, admin.email, admin.recoveryCodes[3]).code == "SECOND_FACTOR_INVALID")
        #expect(try await world.call("GET", path, token: token).int("recovery_codes_left") == 9)
        // Another phone: not with the password alone, and the old one counts until the new one is confirmed.
        #expect(try await world.call("POST", path, password(), token: token).code == "SECOND_FACTOR_REQUIRED")
        let started = try await world.call("POST", path, password(World.password, admin.recoveryCodes[4]), token: token)
        let app = Authenticator(secret: try #require(started.string("secret"), "\(started.text)"))
        try await wait(world, admin.id)
        #expect(try await login(world, admin.email, admin.app.code()).status == 200)
        let confirmed = try await world.call("POST", path + "/confirm", "{\"code\":\"\(app.code())\"}", token: token)
        #expect(confirmed.status == 200, "\(confirmed.text)")
        try await wait(world, admin.id)
        for old in [admin.app.code(), admin.recoveryCodes[5]] {
            #expect(try await login(world, admin.email, old).code == "SECOND_FACTOR_INVALID")
        }
        let codes = confirmed.strings("recovery_codes")
        let last = try #require(try await login(world, admin.email, codes[0]).string("access_token"))
        let removed = try await world.call("DELETE", path, password(World.password, codes[1]), token: last)
        #expect(removed.status == 200, "\(removed.text)")
        let entries = try await log(world, of: admin.id)
        #expect(
            entries.map(\.kind) == [
                .removeSecondFactor, .useRecoveryCode, .useRecoveryCode, .enrolSecondFactor, .useRecoveryCode, .useRecoveryCode,
                .enrolSecondFactor,
            ]
        )
        #expect(
            entries.map(\.detail) == ["", "8 left", "9 left", "instead of another one", "8 left", "9 left", ""],
            "\(entries)"
        )
        // The owner gets a mail of each; of the code that a removal took, that of the removal.
        _ = try await world.mailbox.newest(.secondFactorEnrolled, to: admin.email, count: 2)
        _ = try await world.mailbox.newest(.secondFactorRemoved, to: admin.email)
        _ = try await world.mailbox.newest(.recoveryCodeUsed, to: admin.email, count: 3)
        let left = world.mailbox.mails(to: admin.email, .recoveryCodeUsed).compactMap { $0.values?.recoveryCodesLeft }
        #expect(left.sorted() == [8, 9, 9])
    }

    @Test func `neither a session of before, nor Apple, nor a new password is a way around it`() async throws {
        let world = try await World.shared.value
        let before = try await world.register("hana")
        let (id, email) = (try #require(before.user?.id), try #require(before.user?.email))
        _ = try await world.database.execute(
            "UPDATE auth.account SET is_admin = true, email_verified_at = now() WHERE id = \(id)"
        )
        let token = try #require(try await login(world, email).string("access_token"))
        let started = try await world.call("POST", path, password(), token: token)
        let app = Authenticator(secret: try #require(started.string("secret"), "\(started.text)"))
        let confirmed = try await world.call("POST", path + "/confirm", "{\"code\":\"\(app.code())\"}", token: token)
        #expect(confirmed.status == 200, "\(confirmed.text)")
        let refresh = "{\"refresh_token\":\"\(before.refreshToken)\"}"
        #expect(try await world.call("POST", "/api/auth/refresh", refresh).code == "INVALID_REFRESH_TOKEN")
        // An Apple user with the same verified address would be linked to the account.
        let claims = Claims(email: email)
        func apple(_ code: String?) async throws -> APIReply {
            let identity = try world.apple.token(claims.json(world.now()))
            let code = code.map { ",\"code\":\"\($0)\"" } ?? ""
            return try await world.call("POST", "/api/auth/apple", "{\"identity_token\":\"\(identity)\"\(code)}")
        }
        #expect(try await apple(nil).code == "SECOND_FACTOR_REQUIRED")
        #expect(try await apple(app.wrongCode).code == "SECOND_FACTOR_INVALID")
        let code = app.code(1)
        let signedIn = try await apple(code)
        #expect(signedIn.string("user", "id") == "\(id)", "\(signedIn.text)")
        #expect(try await apple(code).code == "SECOND_FACTOR_INVALID", "used")
        // Refreshing goes on without a code: the session has shown one.
        let renewed = try await world.call(
            "POST",
            "/api/auth/refresh",
            "{\"refresh_token\":\"\(try #require(signedIn.string("refresh_token")))\"}"
        )
        #expect(try await world.call("GET", "/api/admin/actions", token: renewed.string("access_token")).status == 200)
        _ = try await world.email.requestPasswordReset(.init(email: email), context: World.context())
        let link = try await world.mailbox.token(.passwordReset, to: email)
        let reset = ResetPasswordRequest(token: link, newPassword: "battery-horse-staple")
        _ = try await world.email.resetPassword(reset, context: World.context())
        #expect(try await login(world, email, word: "battery-horse-staple").code == "SECOND_FACTOR_REQUIRED")
    }

    @Test func `where it is required, an administrator may get one, and nothing else until then`() async throws {
        let world = try await World(secondFactor: "required")
        let (id, email, token) = try await administrator(world)
        let actions = "/api/admin/actions"
        let refused = try await world.call("GET", actions, token: token)
        #expect(refused.status == 403 && refused.code == "SECOND_FACTOR_ENROLMENT_REQUIRED", "\(refused.text)")
        #expect(try await world.call("GET", "/api/users/me", token: token).bool("is_admin") == true)
        #expect(try await world.call("GET", path, token: token).bool("required") == true)
        let user = try await world.register("ulf")
        #expect(try await world.call("GET", actions, token: user.accessToken).code == "ADMIN_ONLY")

        let session = try await login(world, email)
        let own = try #require(session.string("access_token"))
        let started = try await world.call("POST", path, password(), token: own)
        let app = Authenticator(secret: try #require(started.string("secret"), "\(started.text)"))
        let confirmed = try await world.call("POST", path + "/confirm", "{\"code\":\"\(app.code())\"}", token: own)
        #expect(confirmed.status == 200, "\(confirmed.text)")
        let refresh = "{\"refresh_token\":\"\(try #require(session.string("refresh_token")))\"}"
        let renewed = try await world.call("POST", "/api/auth/refresh", refresh)
        let admin = try #require(renewed.string("access_token"), "\(renewed.text)")
        #expect(try await world.call("GET", actions, token: admin).status == 200)

        // Removing it needs both, and takes the rights away at once.
        #expect(try await world.call("DELETE", path, password("not it", app.code(1)), token: admin).code == "WRONG_PASSWORD")
        let wrong = password(World.password, app.wrongCode)
        #expect(try await world.call("DELETE", path, wrong, token: admin).code == "SECOND_FACTOR_INVALID")
        let removed = try await world.call("DELETE", path, password(World.password, app.code(1)), token: admin)
        #expect(removed.int("sessions_ended") == 1, "\(removed.text)")
        #expect(try await world.call("GET", actions, token: admin).code == "SESSION_REVOKED")
        let again = try #require(try await login(world, email).string("access_token"))
        #expect(try await world.call("GET", actions, token: again).code == "SECOND_FACTOR_ENROLMENT_REQUIRED")
        #expect(try await log(world, of: id).map(\.kind) == [.removeSecondFactor, .enrolSecondFactor])
        _ = try await world.mailbox.newest(.secondFactorRemoved, to: email)
    }

    @Test func `an operator removes a lost one: the sessions end, the password is enough, and the log says who did it`()
        async throws
    {
        let world = try await World.shared.value
        let admin = try await enrolled(world)
        let (email, url) = (admin.email, world.databaseURL)
        let text = try await AuthCommands.removeSecondFactor(email: email.uppercased(), databaseURL: url)
        #expect(text.contains("has no second factor any more; "), "\(text)")
        try await eventually("its sessions have ended", within: .seconds(60)) {
            try await world.call("GET", "/api/users/me", token: admin.token).code == "SESSION_REVOKED"
        }
        #expect(try await login(world, email).status == 200)
        let entry = try #require(try await log(world, of: admin.id).first)
        #expect(
            entry.kind == .removeSecondFactor && entry.adminID == UserID(high: 0, low: 0) && entry.detail.contains("operator")
        )
        _ = try await world.mailbox.newest(.secondFactorRemoved, to: email)
        let repeated = try await AuthCommands.removeSecondFactor(email: email, databaseURL: url)
        #expect(repeated.hasSuffix("has no second factor"))
        #expect(
            await reason { try await AuthCommands.removeSecondFactor(email: "no@body.x", databaseURL: url) } == "NOT_FOUND"
        )
    }

    @Test func `a secret that waits too long is not confirmed`() async throws {
        let world = try await World(travelling: true)
        let user = try #require(try await world.register("kim").user)
        _ = try await world.database.execute("UPDATE auth.account SET is_admin = true WHERE id = \(user.id)")
        let client = SecondFactorClient(world.bus)
        let start = StartSecondFactorRequest(password: World.password)
        let started = try await client.startSecondFactor(start, context: World.context(user.id))
        #expect(started.expiresAt == world.now() + .minutes(10))
        let app = Authenticator(secret: started.secret)
        try #require(world.manualClock).advance(by: .minutes(10))
        let confirm = { ConfirmSecondFactorRequest(code: app.code()) }
        #expect(
            await reason { try await client.confirmSecondFactor(confirm(), context: World.context(user.id)) }
                == "SECOND_FACTOR_NOT_STARTED"
        )
        // The codes are of the machine's clock, whatever the day of the product.
        let second = try await client.startSecondFactor(start, context: World.context(user.id))
        let other = Authenticator(secret: second.secret)
        let code = ConfirmSecondFactorRequest(code: other.code())
        #expect(try await client.confirmSecondFactor(code, context: World.context(user.id)).recoveryCodes.count == 10)
    }
}
