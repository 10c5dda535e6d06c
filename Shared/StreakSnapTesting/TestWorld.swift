public import Foundation
public import StreakSnapClient

/// A private StreakSnap for one test: services, database, broker and stand-ins for what lies outside, on a free port.
///
/// ```swift
/// @Test(.world(clock: "2030-03-04T08:00:00Z")) func `both post`() async throws {
///     let world = try TestWorld.current
///     let (ada, ben) = try await world.friends()
///     try await ada.snap()
///     try await ben.snap()
///     #expect(try await ada.streak(with: ben).currentCount == 1)
/// }
/// ```
public struct TestWorld: Sendable, Identifiable {
    /// The world of the running test.
    ///
    /// - Throws: ``TestKitError`` `NO_WORLD` in a test without the `.world` trait, and in a detached task.
    public static var current: TestWorld {
        get throws {
            guard let bound else {
                throw TestKitError("NO_WORLD", "this test has no world: give it or its suite the trait .world")
            }
            return bound
        }
    }

    @TaskLocal static var bound: TestWorld?

    /// Its name in this test-environment.
    public let id: String
    /// Where its public API is: what the app under test is given as its server.
    public let url: URL
    /// The account on its broker that may do everything there.
    public let nats: NATSAccess
    /// A connection string for its database, as a superuser of it; each service has a schema of its own name.
    public let postgres: String

    let control: ControlClient
    let transport: any Transport
    let moves = Counter()
    private let photos = Counter()
    private let sessions = Counter()

    /// How to connect to a broker.
    public struct NATSAccess: Sendable, Hashable {
        /// Its address.
        public let url: String
        /// The user's name.
        public let user: String
        /// The user's password.
        public let password: String
    }

    init(_ reply: JSONValue, _ control: ControlClient, _ transport: any Transport) throws {
        id = try reply.text("id")
        guard let url = URL(string: try reply.text("url")) else { throw TestKitError("BAD_REPLY", "“url” is no address") }
        self.url = url
        nats = NATSAccess(
            url: try reply["nats"].text("url"),
            user: try reply["nats"].text("user"),
            password: try reply["nats"].text("password")
        )
        postgres = try reply["postgres"].text("url")
        (self.control, self.transport) = (control, transport)
    }

    /// Its clock.
    public var clock: TestClock { TestClock(world: self) }

    /// A client by which no user is signed in, for tests of registration and sign-in.
    public func client() -> StreakSnap { client(MemorySessionStore()) }

    /// Retries are fast and few: a test of a fault wants the error, not the wait.
    func client(_ store: any SessionStore) -> StreakSnap {
        StreakSnap(
            url: url,
            sessions: store,
            transport: transport,
            settings: StreakSnap.Settings(
                retries: RetryPolicy(attempts: 3, base: .milliseconds(20), most: .milliseconds(200)),
                userAgent: "StreakSnapTesting/1"
            )
        )
    }

    /// A photo that no other call in this world has given.
    public func photo() -> Data { TestPhoto.png(photos.next()) }

    /// Names sessions.
    func sessionName() -> String { "\(id)-\(sessions.next())" }

    /// Waits until nothing is under way: everything that was done has had its effects, and what it pushes and mails has arrived, as far as it is not due
    /// later. So it can be tested that something was not sent. ``people(_:friends:acceptTerms:push:timeZone:)``, `snap`, `befriend`, `checkIn`, `buy`
    /// and moves of the clock wait by themselves; after other changes by a `client`, or by the app under test, call it. While the database is slowed down
    /// or away it does not wait.
    ///
    /// - Throws: ``TestKitError`` `UNAVAILABLE` after two minutes.
    public func waitUntilQuiet() async throws { try await call("POST", "/quiet") }

    /// Ends it and everything in it. What has ended already stays so.
    public func end() async throws {
        do { try await control.call("DELETE", "/worlds/\(id)") } catch let error as TestKitError where error.status == 404 {}
    }

    @discardableResult
    func call(
        _ verb: String,
        _ path: String,
        query: [(String, String)] = [],
        body: [String: JSONValue]? = nil
    ) async throws -> JSONValue {
        try await control.call(verb, "/worlds/\(id)\(path)", query: query, body: body)
    }
}

/// Counts from 1.
final class Counter: @unchecked Sendable {
    private let lock = NSLock()
    private var count = 0

    /// How often ``next()`` was called.
    var value: Int { lock.withLock { count } }

    /// The next number.
    @discardableResult
    func next() -> Int {
        lock.withLock {
            count += 1
            return count
        }
    }
}
