import AuthAPI
import Bus
import CommonAPI
import Foundation
import Kernel
import NotificationsAPI
import TestSupport
import Testing

/// Passwords and e-mail addresses by links in mails (AU-13).
@Suite(.serialized, .timeLimit(.minutes(5))) struct EmailTests {
    private let newPassword = "battery-horse-staple"

    /// A new user.
    private struct Member {
        let world: World
        let id: UserID
        let email: String
        let token: String

        var context: CallContext { World.context(id) }
    }

    private func member(_ name: String, in world: World, locale: String? = nil) async throws -> Member {
        let unique = World.unique(name)
        let reply = try await world.accounts.register(
            RegisterRequest(email: "\(unique)@example.com", password: World.password, username: unique, locale: locale),
            context: World.context()
        )
        return Member(world: world, id: try #require(reply.user?.id), email: "\(unique)@example.com", token: reply.accessToken)
    }

    private func forgot(_ email: String, in world: World, from address: String? = nil) async throws -> String {
        let before = world.mailbox.mails(to: email, .passwordReset).count
        _ = try await world.email.requestPasswordReset(
            RequestPasswordResetRequest(email: email),
            context: World.context(from: address)
        )
        return try await world.mailbox.token(.passwordReset, to: email, count: before + 1)
    }

    private func reset(_ token: String, in world: World, key: String? = nil) async throws -> ResetPasswordReply {
        try await world.email.resetPassword(
            ResetPasswordRequest(token: token, newPassword: newPassword),
            context: World.context(key: key)
        )
    }

    private func verify(_ token: String, in world: World) async throws -> VerifyEmailReply {
        try await world.email.verifyEmail(VerifyEmailRequest(token: token), context: World.context())
    }

    private func me(_ member: Member) async throws -> Me {
        try await member.world.profiles.getMe(GetMeRequest(), context: member.context)
    }

    @Test func `a link in the user's language verifies the address, once`() async throws {
        let world = try await World.shared.value
        let ann = try await member("ann", in: world, locale: "de-AT")
        let mail = try await world.mailbox.newest(.verification, to: ann.email)
        #expect(mail.locale == "de-AT" && mail.values?.link.hasSuffix("?lang=de") == true && mail.userID == ann.id)
        #expect(try await !me(ann).emailVerified)
        let token = try await world.mailbox.token(.verification, to: ann.email)
        let verified = try await world.call("POST", "/api/auth/email/verify", "{\"token\":\"\(token)\"}")
        #expect(verified.status == 200 && verified.bool("email_changed") == false, "\(verified.text)")
        #expect(try await me(ann).emailVerified)
        let summary = try await world.profiles.getSummaries(GetSummariesRequest(userIDs: [ann.id]), context: World.context())
        #expect(summary.profiles.first?.verifiedEmail == ann.email, "others link and find by it from now on")
        let again = try await world.call("POST", "/api/auth/email/verify", "{\"token\":\"\(token)\"}")
        #expect(again.status == 400 && again.code == "EMAIL_TOKEN_USED", "\(again.text)")
        let resend = try await world.call("POST", "/api/auth/email/resend", token: ann.token)
        #expect(resend.code == "EMAIL_ALREADY_VERIFIED", "\(resend.text)")
    }

    @Test func `a token that is wrong, late, or for something else is refused clearly`() async throws {
        let world = try await World(travelling: true)
        let clock = try #require(world.manualClock)
        let ben = try await member("ben", in: world)
        let verification = try await world.mailbox.token(.verification, to: ben.email)
        let password = try await forgot(ben.email, in: world)
        #expect(await reason { try await verify("nonsense", in: world) } == "EMAIL_TOKEN_INVALID")
        #expect(await reason { try await reset("nonsense", in: world) } == "EMAIL_TOKEN_INVALID")
        #expect(await reason { try await reset(verification, in: world) } == "EMAIL_TOKEN_INVALID")
        #expect(await reason { try await verify(password, in: world) } == "EMAIL_TOKEN_INVALID")
        clock.advance(by: .hours(1))
        #expect(await reason { try await reset(password, in: world) } == "EMAIL_TOKEN_EXPIRED")
        clock.advance(by: .hours(22) + .minutes(59))
        _ = try await world.email.resendVerification(ResendVerificationRequest(), context: ben.context)
        let second = try await world.mailbox.token(.verification, to: ben.email, count: 2)
        clock.advance(by: .minutes(1))
        #expect(await reason { try await verify(verification, in: world) } == "EMAIL_TOKEN_EXPIRED")
        #expect(await reason { try await verify(second, in: world) } == nil)
    }

    @Test func `a reset sets the password once, ends every session and verifies the address`() async throws {
        let world = try await World.shared.value
        let cem = try await member("cem", in: world)
        _ = try await world.login(cem.email)
        let (token, other) = (try await forgot(cem.email, in: world), try await forgot(cem.email, in: world))
        let key = World.unique("key")
        let done = try await reset(token, in: world, key: key)
        #expect(done.sessionsEnded == 2)
        #expect(try await reset(token, in: world, key: key) == done, "a repeat gets the first answer")
        #expect(await reason { try await reset(token, in: world) } == "EMAIL_TOKEN_USED")
        #expect(await reason { try await reset(other, in: world) } == "EMAIL_TOKEN_SUPERSEDED")
        try await eventually("the gateway refuses the old session") {
            try await world.call("GET", "/api/users/me", token: cem.token).status == 401
        }
        #expect(await reason { try await world.login(cem.email) } == "INVALID_CREDENTIALS")
        let session = try await world.login(cem.email, newPassword)
        #expect(session.user?.emailVerified == true)
        _ = try await world.mailbox.newest(.passwordChanged, to: cem.email)
    }

    @Test func `a token does not outlive a change of the password or the account`() async throws {
        let world = try await World.shared.value
        let dan = try await member("dan", in: world)
        let token = try await forgot(dan.email, in: world)
        _ = try await world.email.changePassword(
            ChangePasswordRequest(currentPassword: World.password, newPassword: newPassword),
            context: dan.context
        )
        #expect(await reason { try await reset(token, in: world) } == "EMAIL_TOKEN_SUPERSEDED")
        let eve = try await member("eve", in: world)
        let verification = try await world.mailbox.token(.verification, to: eve.email)
        let password = try await forgot(eve.email, in: world)
        _ = try await world.accounts.deleteAccount(DeleteAccountRequest(password: World.password), context: eve.context)
        #expect(await reason { try await reset(password, in: world) } == "ACCOUNT_SCHEDULED_FOR_DELETION")
        #expect(await reason { try await verify(verification, in: world) } == "ACCOUNT_SCHEDULED_FOR_DELETION")
    }

    @Test func `nothing is said of whether an address has an account, and no mailbox is flooded`() async throws {
        let world = try await World(travelling: true)
        let clock = try #require(world.manualClock)
        let fay = try await member("fay", in: world)
        _ = try await world.mailbox.newest(.verification, to: fay.email)
        let unknown = "\(World.unique("unknown"))@example.com"
        var answers: [[String]] = [[], []]
        for (index, email) in [fay.email, unknown].enumerated() {
            // The registration was one.
            for _ in 0..<(index == 0 ? 5 : 6) {
                do {
                    let reply = try await world.email.requestPasswordReset(
                        RequestPasswordResetRequest(email: email),
                        context: World.context()
                    )
                    answers[index].append("\(reply)")
                } catch let error as ServiceError { answers[index].append("\(error.reason) \(error.retryAfter ?? 0)") }
            }
        }
        #expect(answers[0].suffix(5) == answers[1].suffix(5), "\(answers)")
        #expect(answers[1].last == "RATE_LIMITED 3600" || answers[1].last == "RATE_LIMITED 3601", "\(answers[1])")
        try await eventually("all are sent") { world.mailbox.mails(to: fay.email, .passwordReset).count == 4 }
        #expect(world.mailbox.mails(to: unknown).isEmpty)
        clock.advance(by: .hours(1) + .seconds(1))
        _ = try await forgot(fay.email.uppercased(), in: world, to: fay.email)
    }

    private func forgot(_ typed: String, in world: World, to email: String) async throws -> String {
        let before = world.mailbox.mails(to: email, .passwordReset).count
        _ = try await world.email.requestPasswordReset(RequestPasswordResetRequest(email: typed), context: World.context())
        return try await world.mailbox.token(.passwordReset, to: email, count: before + 1)
    }

    @Test func `one client address asks for thirty mails in an hour`() async throws {
        let world = try await World.shared.value
        let address = World.address()
        var refused = 0
        for number in 0..<32 {
            let error = await reason {
                try await world.email.requestPasswordReset(
                    RequestPasswordResetRequest(email: "\(World.unique("client\(number)"))@example.com"),
                    context: World.context(from: address)
                )
            }
            if error == "RATE_LIMITED" { refused += 1 }
        }
        #expect(refused == 2)
    }

    @Test func `a change of the password needs the old one and ends the other sessions`() async throws {
        let world = try await World.shared.value
        let gus = try await member("gus", in: world)
        let other = try await world.login(gus.email)
        func change(_ old: String, key: String) async throws -> APIReply {
            let body = "{\"current_password\":\"\(old)\",\"new_password\":\"\(newPassword)\"}"
            return try await world.call("POST", "/api/auth/password/change", body, token: gus.token, key: key)
        }
        let wrong = try await change("wrong password", key: World.unique("a"))
        #expect(wrong.status == 403 && wrong.code == "WRONG_PASSWORD", "\(wrong.text)")
        let key = World.unique("b")
        let changed = try await change(World.password, key: key)
        #expect(changed.status == 200 && changed.int("sessions_ended") == 1, "\(changed.text)")
        #expect(
            try await change(World.password, key: key).text.contains("\"sessions_ended\":1"),
            "a repeat gets the first answer"
        )
        try await eventually("the other session has ended") {
            try await world.call("GET", "/api/users/me", token: other.accessToken).status == 401
        }
        #expect(try await world.call("GET", "/api/users/me", token: gus.token).status == 200, "the caller's goes on")
        #expect(await reason { try await world.login(gus.email) } == "INVALID_CREDENTIALS")
        #expect(try await world.login(gus.email, newPassword).user?.id == gus.id)
        _ = try await world.mailbox.newest(.passwordChanged, to: gus.email)
    }

    @Test func `a new address is confirmed, and the old one informed without being shown it`() async throws {
        let world = try await World.shared.value
        let hal = try await member("hal", in: world)
        let new = "\(World.unique("new"))@example.org"
        func change(_ email: String, _ password: String? = World.password) async throws -> ChangeEmailReply {
            try await world.email.changeEmail(ChangeEmailRequest(email: email, password: password), context: hal.context)
        }
        #expect(await reason { try await change(new, nil) } == "VALIDATION_ERROR")
        #expect(await reason { try await change(new, "wrong password") } == "WRONG_PASSWORD")
        #expect(await reason { try await change(hal.email.uppercased()) } == "EMAIL_UNCHANGED")
        #expect(try await change(new).pendingEmail == new)
        #expect(try await me(hal).email == hal.email, "not before it is confirmed")
        let password = try await forgot(hal.email, in: world)
        let token = try await world.mailbox.token(.emailChangeConfirm, to: new)
        #expect(try await verify(token, in: world).emailChanged)
        let after = try await me(hal)
        #expect(after.email == new && after.emailVerified)
        let notice = try await world.mailbox.newest(.emailChangeNotice, to: hal.email)
        #expect(notice.values?.newAddress == "n…@example.org" && notice.values?.link == "")
        #expect(await reason { try await reset(password, in: world) } == "EMAIL_TOKEN_SUPERSEDED", "sent to the old address")
        #expect(try await world.login(new).user?.id == hal.id)
        #expect(await reason { try await world.login(hal.email) } == "INVALID_CREDENTIALS")
    }

    @Test func `an address of another account is refused to whom it belongs, not to whom asks`() async throws {
        let world = try await World.shared.value
        let (ida, jan) = (try await member("ida", in: world), try await member("jan", in: world))
        let free = "\(World.unique("free"))@example.org"
        var answers: [ChangeEmailReply] = []
        for email in [free, jan.email] {
            let request = ChangeEmailRequest(email: email, password: World.password)
            var reply = try await world.email.changeEmail(request, context: ida.context)
            reply.pendingEmail = ""
            answers.append(reply)
        }
        #expect(answers[0] == answers[1])
        let token = try await world.mailbox.token(.emailChangeConfirm, to: jan.email)
        #expect(await reason { try await verify(token, in: world) } == "EMAIL_TAKEN")
        let old = try await world.mailbox.token(.emailChangeConfirm, to: free)
        #expect(await reason { try await verify(old, in: world) } == "EMAIL_TOKEN_SUPERSEDED", "only the newest wish counts")
        #expect(try await me(ida).email == ida.email)
        #expect(try await me(jan).email == jan.email)
    }

    @Test func `deletion and restoration are announced`() async throws {
        let world = try await World.shared.value
        let kim = try await member("kim", in: world)
        let deleted = try await world.accounts.deleteAccount(
            DeleteAccountRequest(password: World.password),
            context: kim.context
        )
        #expect(try await world.mailbox.newest(.deletionScheduled, to: kim.email).values?.at == deleted.purgeAt)
        let ended = EndedByDeletion(friendships: 3, circles: 1, mutualStreaks: 2)
        world.ended.set(ended, of: kim.id)
        let restored = try await world.accounts.restoreAccount(
            RestoreAccountRequest(userID: kim.id),
            context: World.context(kim.id, role: .admin)
        )
        #expect(restored.ended == ended)
        #expect(try await world.mailbox.newest(.deletionUndone, to: kim.email).values?.ended == ended)
        #expect(try await self.restored(kim.id, in: world).map(\.ended) == [ended])
    }

    @Test func `an account is restored also while it is not known what ended with it, and no figure is made up`() async throws {
        let world = try await World.shared.value
        let lee = try await member("lee", in: world)
        _ = try await world.accounts.deleteAccount(DeleteAccountRequest(password: World.password), context: lee.context)
        let restored = try await world.accounts.restoreAccount(
            RestoreAccountRequest(userID: lee.id),
            context: World.context(lee.id, role: .admin)
        )
        #expect(restored.status == .active && restored.ended == nil)
        let mail = try await world.mailbox.newest(.deletionUndone, to: lee.email)
        #expect(mail.values?.ended == nil)
        #expect(try await self.restored(lee.id, in: world).map(\.ended) == [nil])
    }

    /// The events of restorations of an account.
    private func restored(_ user: UserID, in world: World) async throws -> [AccountRestored] {
        try await world.database.query(
            "SELECT body FROM auth.outbox WHERE subject = \(AccountRestored.subject) AND aggregate = \(user.description)"
        ).map { try AccountRestored(serialized: try $0.decode(as: [UInt8].self)) }
    }

    /// A version that does not know a new kind of mail refuses it, until it is replaced by one that does.
    @Test(arguments: [
        ServiceError.unavailable(), ServiceError.validation(field: "kind", "must be a known value"),
    ]) func `while notifications is away or older nothing is lost, and no table has a token`(refusal: ServiceError) async throws {
        let world = try await World(travelling: true)
        world.mailbox.refusal = refusal
        let lou = try await member("lou", in: world)
        try await eventually("it was asked for, and again") { world.mailbox.calls > 1 }
        let pending = try await world.database.query("SELECT id FROM auth.pending_mail WHERE account_id = \(lou.id)")
        let operation = try #require(pending.first).decode(as: OperationID.self)
        world.mailbox.refusal = nil
        let mail = try await world.mailbox.newest(.verification, to: lou.email)
        #expect(mail.operationID == operation)
        try await eventually("it is deleted") {
            try await world.database.query("SELECT 1 FROM auth.pending_mail WHERE account_id = \(lou.id)").isEmpty
        }
        let token = try await world.mailbox.token(.verification, to: lou.email)
        for table in ["email_token", "pending_mail", "stored_reply", "outbox"] {
            let rows = try await world.database.query(
                "SELECT 1 FROM auth.\(identifier: table) AS t WHERE t::text LIKE '%' || \(token) || '%'"
            )
            #expect(rows.isEmpty, "\(table)")
        }
        #expect(world.mailbox.mails(to: lou.email).count == 1)
        #expect(try await verify(token, in: world) == VerifyEmailReply())
    }

    @Test func `services learn where mail to a user goes`() async throws {
        let world = try await World.shared.value
        let mia = try await member("mia", in: world)
        _ = try await world.profiles.updateMe(UpdateMeRequest(locale: "de"), context: mia.context)
        let address = try await world.email.getMailAddress(
            GetMailAddressRequest(userID: mia.id),
            context: World.context(nil)
        )
        #expect(address == MailRecipient(address: mia.email, locale: "de", isVerified: false))
        let unknown = UserID(high: 1, low: 2)
        #expect(
            await reason {
                try await world.email.getMailAddress(GetMailAddressRequest(userID: unknown), context: World.context())
            } == "NOT_FOUND"
        )
        for bad in ["d", "german", "de_AT", "de-", "\u{1F525}", ""] {
            let error = await reason {
                try await world.profiles.updateMe(UpdateMeRequest(locale: bad), context: mia.context)
            }
            #expect(error == "VALIDATION_ERROR", "\(bad)")
        }
    }
}
