import Kernel
import OutgoingHTTP
import Synchronization

/// Calls the public API of a world, as an app would.
struct WorldClient: Sendable {
    let http: OutgoingHTTP
    let url: String

    /// How often a request is made again that the world asks to make again in a moment.
    private static let tries = 50
    private static let pause = Duration.milliseconds(100)

    /// The `data` of a reply.
    ///
    /// - Parameters:
    ///   - token: an access token.
    ///   - key: makes a change safe to repeat.
    /// - Throws: `ControlError` with what the world says.
    func call(
        _ method: String,
        _ path: String,
        token: String? = nil,
        key: String? = nil,
        _ body: JSON? = nil
    ) async throws -> JSON {
        var headers = [(name: "Content-Type", value: "application/json")]
        if let token { headers.append((name: "Authorization", value: "Bearer \(token)")) }
        if let key { headers.append((name: "Idempotency-Key", value: key)) }
        for remaining in (0..<Self.tries).reversed() {
            let reply = try await send(method, path, headers, body)
            let json = JSON(bytes: reply.body) ?? .null
            if (200..<300).contains(reply.status) { return json["data"] }
            // A queue is full, or a change has not reached every service yet.
            if remaining > 0, reply.status == 429 || (reply.status == 503 && key != nil) {
                try await Task.sleep(for: Self.pause)
                continue
            }
            let error = json["error"]
            let text = "The world answered \(method) \(path) with \(reply.status) \(error["code"].string ?? "")"
            throw ControlError.unavailable("\(text): \(error["message"].string ?? "")")
        }
        throw ControlError.unavailable("The world did not answer \(method) \(path).")
    }

    /// A reply, whatever it is.
    ///
    /// - Throws: `ControlError` when there is none.
    func send(_ method: String, _ path: String, _ headers: [(name: String, value: String)], _ body: JSON?) async throws
        -> OutgoingHTTP.Reply
    {
        let request = OutgoingHTTP.Request(method, url + path, headers: headers, body: body?.bytes, timeout: .seconds(30))
        do { return try await http.send(request) } catch let failure as OutgoingHTTP.Failure {
            throw ControlError.unavailable("The gateway of the world does not answer: \(failure)")
        }
    }
}

/// How many people a world has had.
final class PeopleCount: Sendable {
    private let count = Mutex(0)

    /// The numbers of the next people.
    func take(_ more: Int) -> Range<Int> {
        count.withLock { count in
            defer { count += more }
            return count + 1..<count + 1 + more
        }
    }
}

/// People whom a test wants.
struct PeopleWanted: Sendable {
    var count: Int
    var areFriends: Bool
    var acceptTerms: Bool
    var havePushes: Bool
    var timeZone: String

    static let fields: Set<String> = ["count", "friends", "terms", "push", "time_zone"]
    private static let mostFriends = 20

    /// - Throws: `VALIDATION_ERROR` naming the field.
    init(_ fields: Fields) throws(ControlError) {
        count = Int(try fields.whole("count", in: 1...1_000) ?? 1)
        areFriends = try fields.flag("friends") ?? false
        acceptTerms = try fields.flag("terms") ?? true
        havePushes = try fields.flag("push") ?? false
        timeZone = try fields.text("time_zone") ?? "UTC"
        guard Zone(sent: timeZone) != nil else { throw .invalid("time_zone", "must be an IANA name, like Europe/Berlin") }
        guard !areFriends || count <= Self.mostFriends else {
            throw .invalid("count", "must be at most \(Self.mostFriends) when all are to be friends")
        }
    }
}

/// A user whom the test environment has registered.
struct WorldPerson: Sendable {
    static let password = "correct-horse-battery"

    let number: Int
    var id = ""
    var accessToken = ""
    var refreshToken = ""
    var pushToken: String?

    init(number: Int) { self.number = number }

    var username: String { "person\(number)" }
    var email: String { "person\(number)@example.com" }

    var json: JSON {
        .object([
            "user_id": .text(id), "username": .text(username), "name": .text("Person \(number)"), "email": .text(email),
            "password": .text(Self.password), "access_token": .text(accessToken), "refresh_token": .text(refreshToken),
            "push_token": .optional(pushToken),
        ])
    }
}

extension World {
    /// Requests at once: more from one address wait for password hashes in vain.
    private static let lanes = 3

    /// Registers people by the public API, so that every service comes to know them as in real life. Devices come last, when nothing is under way
    /// any more: what making friends has pushed is no test's.
    ///
    /// - Throws: `ControlError`.
    nonisolated func makePeople(_ wanted: PeopleWanted) async throws -> [WorldPerson] {
        let numbers = Array(people.take(wanted.count))
        let made = try await inParallel(numbers, lanes: Self.lanes) { [self] in
            try await register(WorldPerson(number: $0), wanted)
        }
        if wanted.areFriends {
            let pairs = made.indices.flatMap { first in made.indices.filter { $0 > first }.map { (first, $0) } }
            let friendships = pairs.map { Friendship(asks: made[$0.0], accepts: made[$0.1]) }
            _ = try await inParallel(friendships, lanes: Self.lanes) { [self] in try await befriend($0) }
        }
        try await waitUntilQuiet()
        guard wanted.havePushes else { return made }
        return try await inParallel(made, lanes: Self.lanes) { [self] in try await registerDevice(of: $0) }
    }

    private struct Friendship: Sendable {
        let asks, accepts: WorldPerson
    }

    private nonisolated func register(_ person: WorldPerson, _ wanted: PeopleWanted) async throws -> WorldPerson {
        var person = person
        let registration: JSON = .texts([
            "email": person.email, "password": WorldPerson.password, "username": person.username,
            "display_name": "Person \(person.number)", "time_zone": wanted.timeZone,
        ])
        var session = try await client.call("POST", "/api/auth/register", registration)
        if session["status"].string == "check_mail" { session = try await completeRegistration(of: person) }
        person.id = session["user"]["id"].string ?? ""
        person.accessToken = session["access_token"].string ?? ""
        person.refreshToken = session["refresh_token"].string ?? ""
        if wanted.acceptTerms {
            let version = JSON.texts(["version": plan.termsVersion])
            _ = try await client.call("POST", "/api/users/me/terms", token: person.accessToken, key: "terms", version)
        }
        return person
    }

    /// Uses the link in the mail of a person who registers where the answer does not sign in (`auth.private-registration`), and signs in.
    private nonisolated func completeRegistration(of person: WorldPerson) async throws -> JSON {
        try await waitUntilQuiet()
        let text = standIns.mail.mails(to: person.email).last?["text"].string ?? ""
        guard let token = text.firstMatch(of: /\/verify\/([A-Za-z0-9_-]+)/)?.1 else {
            throw ControlError.unavailable("The world has sent \(person.email) no link to complete the registration.")
        }
        _ = try await client.call("POST", "/api/auth/email/verify", .texts(["token": String(token)]))
        let login = JSON.texts(["email": person.email, "password": WorldPerson.password])
        return try await client.call("POST", "/api/auth/login", login)
    }

    private nonisolated func registerDevice(of person: WorldPerson) async throws -> WorldPerson {
        var person = person
        let token = "ExponentPushToken[\(plan.id)-\(person.username)]"
        let device = JSON.texts(["push_token": token, "platform": "ios", "app_version": "1.0.0", "locale": "en"])
        _ = try await client.call("PUT", "/api/users/me/push-token", token: person.accessToken, key: "device", device)
        person.pushToken = token
        return person
    }

    private nonisolated func befriend(_ pair: Friendship) async throws {
        let asked = try await client.call(
            "POST",
            "/api/friends/request",
            token: pair.asks.accessToken,
            key: "ask-\(pair.accepts.number)",
            .texts(["username": pair.accepts.username])
        )
        _ = try await client.call(
            "PUT",
            "/api/friends/\(asked["friendship_id"].string ?? "")/respond",
            token: pair.accepts.accessToken,
            key: "accept-\(pair.asks.number)",
            .texts(["action": "accept"])
        )
    }

    /// Signs a user in again.
    ///
    /// - Throws: `ControlError`; 400 for a wrong password.
    nonisolated func signIn(email: String, password: String) async throws -> JSON {
        let login = JSON.texts(["email": email, "password": password])
        let reply = try await client.send("POST", "/api/auth/login", [(name: "Content-Type", value: "application/json")], login)
        let json = JSON(bytes: reply.body) ?? .null
        if reply.status == 401 { throw ControlError.invalid("password", "or e-mail is wrong") }
        guard reply.status == 200 else {
            throw ControlError.unavailable("The world answered \(reply.status): \(json["error"]["message"].string ?? "")")
        }
        let session = json["data"]
        return .object([
            "user_id": session["user"]["id"], "access_token": session["access_token"], "refresh_token": session["refresh_token"],
        ])
    }
}

/// What came of one of several elements.
private struct Made<Value: Sendable>: Sendable {
    let index: Int
    let value: Value
}

/// Does the same for all elements, a few at once; results are in their order.
///
/// - Throws: what the first failure throws; the others are cancelled.
private func inParallel<Element: Sendable, Value: Sendable>(
    _ elements: [Element],
    lanes: Int,
    _ work: @escaping @Sendable (Element) async throws -> Value
) async throws -> [Value] {
    try await withThrowingTaskGroup(of: Made<Value>.self) { tasks in
        var results = [Value?](repeating: nil, count: elements.count)
        var waiting = elements.indices.makeIterator()
        for _ in 0..<lanes {
            guard let index = waiting.next() else { break }
            let element = elements[index]
            tasks.addTask { Made(index: index, value: try await work(element)) }
        }
        while let made = try await tasks.next() {
            results[made.index] = made.value
            guard let index = waiting.next() else { continue }
            let element = elements[index]
            tasks.addTask { Made(index: index, value: try await work(element)) }
        }
        return results.compactMap { $0 }
    }
}
