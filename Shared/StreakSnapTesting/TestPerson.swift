import Foundation
public import StreakSnapClient

/// A registered user of a world, with a client that stays signed in however far the clock is moved.
public struct TestPerson: Sendable, Identifiable {
    /// The account: what the API calls `id` in profiles, and `user_id` wherever another thing is named beside it.
    public let id: UserID
    /// Unique in the world: `person1`.
    public let username: String
    /// The display name: `Person 1`.
    public let name: String
    /// Where mails to this person go.
    public let email: String
    /// For signing in as a user would.
    public let password: String
    /// The token of the person's device; nil when none was registered.
    public let pushToken: String?
    /// Everything that this person can do. It is signed in; after the clock was moved it signs in again by itself.
    public let client: StreakSnap

    private let world: TestWorld

    init(_ reply: JSONValue, _ world: TestWorld) throws {
        let id = UserID(try reply.text("user_id"))
        (username, name) = (try reply.text("username"), try reply.text("name"))
        (email, password) = (try reply.text("email"), try reply.text("password"))
        pushToken = reply.optionalText("push_token")
        client = world.client(PersonSessions(world, id, email, password, try PersonSessions.session(reply, world)))
        (self.id, self.world) = (id, world)
    }

    /// Posts a new photo to all streaks of the person. It returns when nothing is under way (``TestWorld/waitUntilQuiet()``).
    @discardableResult
    public func snap(caption: String? = nil) async throws -> Media.UploadSnapReply {
        let photo = UploadFile.data(world.photo(), name: "photo.png", contentType: "image/png")
        let posted = try await client.snaps.uploadSnap(photo: photo, streakIDs: ["all"], caption: caption)
        try await world.waitUntilQuiet()
        return posted
    }

    /// Becomes friends with another person. It returns when nothing is under way: what it has pushed is there.
    ///
    /// - Returns: the streak that begins.
    /// - Throws: ``TestKitError`` `NO_STREAK` when none begins, as at the limit of the free plan (MS-1); `StreakSnapError`.
    @discardableResult
    public func befriend(_ friend: TestPerson) async throws -> StreakID {
        let asked = try await client.friends.sendFriendRequest(userID: friend.id)
        let accepted = try await friend.client.friends.respondToFriendRequest(friendshipID: asked.friendshipID, action: .accept)
        guard let streak = accepted.streak else {
            throw TestKitError("NO_STREAK", "\(name) and \(friend.name) have no streak: \(accepted.streakReason ?? "no reason")")
        }
        try await world.waitUntilQuiet()
        return streak.streakID
    }

    /// The active streak with a friend.
    ///
    /// - Throws: ``TestKitError`` `NO_STREAK` when there is none; one that broke is read by its id.
    public func streak(with friend: TestPerson) async throws -> Streaks.StreakItem {
        let streaks = try await client.mutual.listStreaks().streaks
        guard let streak = streaks.first(where: { $0.friend?.userID == friend.id }) else {
            throw TestKitError("NO_STREAK", "\(name) and \(friend.name) have no active streak")
        }
        return streak
    }

    /// A streak of the person's, active or not.
    public func streak(_ id: StreakID) async throws -> Streaks.StreakItem {
        try await client.mutual.getStreak(streakID: id).streak
    }

    /// Checks in, at what the world's clock shows. It returns when nothing is under way.
    @discardableResult
    public func checkIn(mood: Int = 8, energy: Int = 7) async throws -> Streaks.CheckInReply {
        let now = try await world.clock.now()
        let reply = try await client.checkIns.checkIn(moodScore: mood, energyLevel: energy, checkInTime: now)
        try await world.waitUntilQuiet()
        return reply
    }
}

extension TestWorld {
    /// Registers people and signs them in. Numbers go on: the first of the next call is the next one. It returns when nothing is under way: the mails
    /// that verify addresses are there, and no push is, because devices are registered when the people are friends already.
    ///
    /// - Parameters:
    ///   - count: 1 to 1,000.
    ///   - friends: makes each a friend of every other, so that each pair has a streak; at most 20 people then.
    ///   - acceptTerms: accepts the terms of use, so that they may post (AU-9).
    ///   - push: registers a device for pushes.
    ///   - timeZone: an IANA name.
    public func people(
        _ count: Int = 1,
        friends: Bool = false,
        acceptTerms: Bool = true,
        push: Bool = false,
        timeZone: String = "UTC"
    ) async throws -> [TestPerson] {
        let body: [String: JSONValue] = [
            "count": .whole(Int64(count)), "friends": .flag(friends), "terms": .flag(acceptTerms), "push": .flag(push),
            "time_zone": .text(timeZone),
        ]
        return try await call("POST", "/people", body: body).list("people").map { try TestPerson($0, self) }
    }

    /// Registers one person.
    public func person(acceptTerms: Bool = true, push: Bool = false, timeZone: String = "UTC") async throws -> TestPerson {
        let people = try await people(acceptTerms: acceptTerms, push: push, timeZone: timeZone)
        guard let person = people.first else { throw TestKitError("BAD_REPLY", "the reply has no people") }
        return person
    }

    /// Registers two friends, who have a streak of 0, and no push yet.
    public func friends(push: Bool = false, timeZone: String = "UTC") async throws -> (TestPerson, TestPerson) {
        let people = try await people(2, friends: true, push: push, timeZone: timeZone)
        guard people.count == 2 else { throw TestKitError("BAD_REPLY", "the reply has \(people.count) people, not 2") }
        return (people[0], people[1])
    }
}

/// The session of one person. The client asks for it when its access token is refused: after a move of the clock the person signs in again,
/// for the refresh token may have ended too.
private actor PersonSessions: SessionStore {
    private let world: TestWorld
    private let user: UserID
    private let credentials: [String: JSONValue]
    private var session: Session?
    private var moves: Int

    init(_ world: TestWorld, _ user: UserID, _ email: String, _ password: String, _ session: Session) {
        (self.world, self.user, self.session) = (world, user, session)
        credentials = ["email": .text(email), "password": .text(password)]
        moves = world.moves.value
    }

    func load() async throws -> Session? {
        let now = world.moves.value
        guard let stored = session, stored.userID == user, moves != now else { return session }
        do {
            let fresh = try Self.session(try await world.call("POST", "/tokens", body: credentials), world)
            (session, moves) = (fresh, now)
        } catch is TestKitError {
            // The test has changed the password, or stopped auth: then the client goes on with what it has.
        }
        return session
    }

    func save(_ session: Session?) { (self.session, moves) = (session, world.moves.value) }

    /// Its end is unknown, for the client reads the machine's clock: a refused token is what ends it.
    static func session(_ reply: JSONValue, _ world: TestWorld) throws -> Session {
        Session(
            accessToken: try reply.text("access_token"),
            refreshToken: try reply.text("refresh_token"),
            expiresAt: .distantFuture,
            refreshKey: world.sessionName()
        )
    }
}
