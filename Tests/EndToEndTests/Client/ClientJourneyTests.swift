import Foundation
import StreakSnapClient
import TestSupport
import Testing

/// The product through the client library, as an app would use it (D19).
@Suite(.timeLimit(.minutes(10))) struct ClientJourneyTests {
    @Test func `two friends go from registration to a streak, lose it, and save it`() async throws {
        let home = try await Installation(["--dev-clock"])
        try await home.travel(to: "2030-03-04T08:00:00Z")
        let ada = try await Phone.register("ada", port: home.http.port, folder: home.data.appending(path: "phones"))
        let ben = try await Phone.register("ben", port: home.http.port, folder: home.data.appending(path: "phones"))
        let streak = try await ada.befriend(ben)
        let news = Task {
            var kinds: [ServerEvent.Kind] = []
            for try await event in ben.streaksnap.events() {
                kinds.append(event.kind)
                if case .streak(streak, "active", 1) = event.kind { break }
            }
            return kinds
        }
        try await postAndReveal(ada, ben, streak)
        let kinds = try await news.value
        #expect(kinds.first == .reset)
        try await refuses(ada, ben)
        try await breaksAndRecovers(home, ada, ben, streak)
        try await listsAndFiles(ada, ben, streak)
        try await ada.streaksnap.accounts.logout()
        let after = await #expect(throws: StreakSnapError.self) { try await ada.streaksnap.snaps.getFeed() }
        #expect(after?.kind == .signedOut)
    }

    private func postAndReveal(_ ada: Phone, _ ben: Phone, _ streak: StreakID) async throws {
        let progress = Progress()
        let first = try await ada.streaksnap.snaps.uploadSnap(
            photo: .file(try ada.photo(1), contentType: "image/jpeg"),
            streakIDs: [streak.rawValue],
            caption: "Guten Morgen"
        ) { progress.note($0) }
        #expect(first.streaks.map(\.accepted) == [true])
        #expect(progress.last?.fraction == 1)
        let locked = try #require(try await ben.streaksnap.snaps.getFeed().items.first)
        #expect(locked.locked && locked.yourTurn && locked.friendSnap == nil)
        let second = try await ben.streaksnap.snaps.uploadSnap(photo: .file(try ben.photo(2)), streakIDs: ["all"])
        #expect(second.streaks.first?.dateCompleted == true)
        #expect(second.streaks.first?.currentCount == 1)
        let shown = try #require(try await ben.streaksnap.snaps.getFeed().items.first)
        #expect(shown.friendSnap?.caption == "Guten Morgen")
        #expect(shown.friendSnap?.postedAt != nil)
        let item = try await ada.streaksnap.mutual.getStreak(streakID: streak).streak
        #expect(item.currentCount == 1 && item.status == .active && item.statusPill == .bothPosted)
        #expect(item.lastCompletedDate == CalendarDate(text: "2030-03-04"))
    }

    private func refuses(_ ada: Phone, _ ben: Phone) async throws {
        let again = await #expect(throws: StreakSnapError.self) {
            try await ada.streaksnap.friends.sendFriendRequest(username: ben.username)
        }
        #expect(again?.code == .alreadyFriends)
        #expect(again?.requestID?.isEmpty == false)
        let wrong = await #expect(throws: StreakSnapError.self) {
            try await ada.streaksnap.profiles.updateMe(timeZone: "Nowhere/Land")
        }
        #expect(wrong?.code == .validationError)
        #expect(wrong?.details.map(\.field) == ["time_zone"])
    }

    private func breaksAndRecovers(_ home: Installation, _ ada: Phone, _ ben: Phone, _ streak: StreakID) async throws {
        try await home.travel(days: 2)
        let broken = try await ada.streaksnap.mutual.getStreak(streakID: streak).streak
        #expect(broken.status == .broken)
        let poor = await #expect(throws: StreakSnapError.self) { try await ada.streaksnap.mutual.recover(streakID: streak) }
        #expect(poor?.code == .noRecoveryTokens)
        try await grantToken(home, ada.user)
        #expect(try await ada.streaksnap.billing.getRecoveryBalance().balance == 1)
        let saved = try await ada.streaksnap.mutual.recover(streakID: streak)
        #expect(saved.streak.status == .active && saved.streak.currentCount == 1 && saved.balance == 0)
        #expect(saved.message?.contains("goes on") == true, "what lies beside the data is in the reply")
    }

    /// An administrator does, also through the client.
    private func grantToken(_ home: Installation, _ user: UserID) async throws {
        let root = try await Phone.register("root", port: home.http.port, folder: home.data.appending(path: "phones"))
        let refused = await #expect(throws: StreakSnapError.self) {
            try await root.streaksnap.admin.store.grantToUser(
                userID: user,
                currency: .recoveryTokens,
                amount: 1,
                reason: "A test"
            )
        }
        #expect(refused?.code == .adminOnly)
        _ = try await home.sql("UPDATE auth.account SET is_admin = true WHERE id = '\(root.user)'")
        try await root.streaksnap.accounts.login(email: "\(root.username)@example.com", password: "correct-horse-battery")
        try await root.streaksnap.admin.store.grantToUser(userID: user, currency: .recoveryTokens, amount: 1, reason: "A test")
    }

    private func listsAndFiles(_ ada: Phone, _ ben: Phone, _ streak: StreakID) async throws {
        var types: [String] = []
        try await eventually("the notifications have come") {
            types = []
            for try await entry in ada.streaksnap.notifications.listAll(limit: 1) { types.append(entry.type.rawValue) }
            return types.contains("friend_accepted") && types.contains("streak_recovered")
        }
        #expect(Set(types).count == types.count)
        var days: [CalendarDate] = []
        for try await day in ada.streaksnap.snaps.getSnapHistoryAll(streakID: streak, limit: 1) { days.append(day.date) }
        #expect(days == [CalendarDate(text: "2030-03-04")])
        let target = ada.folder.appending(path: "export.json")
        let export = try await ada.streaksnap.accounts.exportMyData(destination: target)
        #expect(export.status == 200 && export.contentType.hasPrefix("application/json"))
        let document = try JSONSerialization.jsonObject(with: try Data(contentsOf: target)) as? [String: Any]
        #expect(document?["auth"] != nil)
    }
}

/// The last progress of an upload.
private final class Progress: @unchecked Sendable {
    private let lock = NSLock()
    private var step: UploadProgress?

    func note(_ step: UploadProgress) { lock.withLock { self.step = step } }
    var last: UploadProgress? { lock.withLock { step } }
}
