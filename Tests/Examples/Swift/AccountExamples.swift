import StreakSnapClient
import StreakSnapTesting
import Testing

/// Accounts: mails, sign-in, what was bought.
@Suite(.world(clock: "2030-03-04T08:00:00Z")) struct AccountExamples {
    @Test func `a new user registers, and the link in the mail verifies the address`() async throws {
        let world = try TestWorld.current
        let client = world.client()
        try await client.accounts.register(email: "ada@example.com", password: "correct-horse-battery", timeZone: "UTC")
        #expect(try await client.profiles.getMe().emailVerified == false)
        let mail = try #require(try await world.mails(to: "ada@example.com", atLeast: 1).last)
        try await client.email.verifyEmail(token: try #require(mail.linkToken))
        #expect(try await client.profiles.getMe().emailVerified)
    }

    @Test func `a new password is set by mail`() async throws {
        let world = try TestWorld.current
        let ada = try await world.person()
        let phone = world.client()
        try await phone.email.requestPasswordReset(email: ada.email)
        let mail = try await world.mail("new password", to: ada)
        try await phone.email.resetPassword(token: try #require(mail.linkToken), newPassword: "battery-horse-staple")
        let old = await #expect(throws: StreakSnapError.self) {
            try await phone.accounts.login(email: ada.email, password: ada.password)
        }
        #expect(old?.code == .invalidCredentials)
        let session = try await phone.accounts.login(email: ada.email, password: "battery-horse-staple")
        #expect(session.user.id == ada.id)
    }

    @Test func `Sign in with Apple makes an account, and finds it again`() async throws {
        let world = try TestWorld.current
        let token = try await world.appleToken(subject: "001.ada", email: "ada@example.com")
        let first = try await world.client().accounts.signInWithApple(identityToken: token, givenName: "Ada")
        #expect(first.user.email == "ada@example.com" && first.user.emailVerified)
        let again = try await world.appleToken(subject: "001.ada")
        let second = try await world.client().accounts.signInWithApple(identityToken: again)
        #expect(second.user.id == first.user.id)
    }

    @Test func `premium lasts as long as it is paid`() async throws {
        let world = try TestWorld.current
        let ada = try await world.person()
        try await world.buy("premium_monthly", for: ada)
        try await eventually("she is premium") { try await ada.client.billing.getEntitlements().isPremium }
        try await world.clock.advance(days: 31)
        try await eventually("she is not any more") { try await !ada.client.billing.getEntitlements().isPremium }
    }
}
