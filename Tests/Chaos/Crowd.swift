import Foundation
import Images
import Kernel

/// A user who posts every day.
struct Person: Sendable {
    let number: Int
    let name: String
    var id = ""
    var token = ""
    var streak = ""

    /// Pairs are neighbours.
    var friend: Int { number ^ 1 }
    var email: String { "\(name)@example.com" }
}

/// Pairs of friends and the replies to their snaps.
actor Crowd {
    /// What was played.
    struct Tally: Sendable {
        var acknowledged = 0, retries = 0, twins = 0
        var longest = Duration.zero
    }

    private static let password = "correct-horse-battery"
    /// Phones that upload at once.
    private static let atOnce = 4
    /// How long a phone waits for the answer to an upload before it sends it again.
    private static let timeout = Interval.seconds(5)

    private let api: API
    private let seed: Int
    private(set) var people: [Person]
    /// Snap by round and person.
    private(set) var acknowledged: [Int: [Int: String]] = [:]
    private(set) var tally = Tally()
    private(set) var violations: [String] = []
    /// Uploads of this round that are not answered.
    private var waiting = 0

    init(_ api: API, pairs: Int, seed: Int) {
        (self.api, self.seed) = (api, seed)
        people = (0..<(pairs * 2)).map { Person(number: $0, name: "person.\($0)") }
    }

    var isBusy: Bool { waiting > 0 }

    // Becoming friends

    /// Registers all users and makes the friendships.
    func gather() async throws {
        people = try await each(people) { [api] person in
            var person = person
            let registration =
                "{\"email\":\"\(person.email)\",\"password\":\"\(Self.password)\",\"username\":\"\(person.name)\",\"display_name\":\"\(person.name)\",\"time_zone\":\"UTC\"}"
            // It is repeated until it is answered, like everything here.
            var registering = Self.post("/api/auth/register", registration)
            registering.key = "register-\(person.name)"
            let session: Session = try await api.ask(registering)
            (person.id, person.token) = (session.user.id, session.accessToken)
            let _: Nothing = try await api.ask(Self.post("/api/users/me/terms", "{\"version\":\"2026-01\"}", person))
            return person
        }
        let all = people
        let streaks = try await each(all.filter { $0.number % 2 == 0 }) { [api] one in
            let other = all[one.friend]
            let asked: Asked = try await api.ask(Self.post("/api/friends/request", "{\"username\":\"\(other.name)\"}", one))
            var answer = Self.post("/api/friends/\(asked.friendshipId)/respond", "{\"action\":\"accept\"}", other)
            answer.method = "PUT"
            let accepted: Accepted = try await api.ask(answer)
            return accepted.streak.streakId
        }
        for number in people.indices { people[number].streak = streaks[number / 2] }
    }

    /// Every user signs in: access tokens age with the development clock.
    func signIn() async throws {
        people = try await each(people) { [api] person in
            var person = person
            let login = "{\"email\":\"\(person.email)\",\"password\":\"\(Self.password)\"}"
            person.token = try await api.ask(Self.post("/api/auth/login", login), as: Session.self).accessToken
            return person
        }
    }

    // Posting

    /// From now on there is load, until every upload of this round is answered.
    func begin() { waiting = people.count }

    /// Every user posts once, in an order of this round's own. After `begin`.
    ///
    /// - Parameter isRecovering: whether something was killed a moment ago. Three of four wait for it to be back, so that there is load left
    ///   for the next kill; the others, and uploads under way, meet what is missing.
    func post(round: Int, isRecovering: () async -> Bool) async {
        var dice = Dice(seed, 2, round)
        let order = people.shuffled(using: &dice)
        let twins = Set(order.filter { _ in Int.random(in: 0..<5, using: &dice) == 0 }.map(\.number))
        await withTaskGroup(of: Void.self) { tasks in
            for (index, person) in order.enumerated() {
                if index >= Self.atOnce { await tasks.next() }
                while index % 4 > 0, await isRecovering() { try? await Task.sleep(for: .milliseconds(10)) }
                tasks.addTask { await self.post(person, round: round, isTwice: twins.contains(person.number)) }
            }
        }
    }

    /// - Parameter isTwice: two connections send the same, as a phone does that has changed its network.
    private func post(_ person: Person, round: Int, isTwice: Bool) async {
        defer { waiting -= 1 }
        let what = "round \(round), \(person.name)"
        do {
            let request = try Self.upload(person, photo: Dice(seed, 3, round, person.number), key: "round-\(round)")
            let answers = try await each(Array(repeating: request, count: isTwice ? 2 : 1)) { [api] in try await api.insist($0) }
            let replies = try answers.map { try API.data($0.body, as: Uploaded.self) }
            for answer in answers {
                tally.retries += answer.retries
                tally.longest = max(tally.longest, answer.took)
            }
            tally.twins += isTwice ? 1 : 0
            guard Set(replies.map(\.snap.id)).count == 1, let reply = replies.first else {
                violations.append("\(what): the same upload became two snaps, \(replies.map(\.snap.id))")
                return
            }
            guard reply.streaks.map(\.accepted) == [true] else {
                violations.append("\(what): snap \(reply.snap.id) was accepted by no streak")
                return
            }
            tally.acknowledged += 1
            acknowledged[round, default: [:]][person.number] = reply.snap.id
        } catch { violations.append("\(what): \(error)") }
    }

    private static func upload(_ person: Person, photo dice: Dice, key: String) throws -> API.Request {
        var dice = dice
        let boundary = "chaos-boundary-4f1e"
        let head = """
            --\(boundary)\r\nContent-Disposition: form-data; name="streak_ids"\r\n\r\n\(person.streak)\r\n\
            --\(boundary)\r\nContent-Disposition: form-data; name="photo"; filename="photo.jpg"\r\nContent-Type: image/jpeg\r\n\r\n
            """
        let photo = try SamplePhoto(seed: dice.next(), width: 400, height: 300).jpeg()
        return API.Request(
            method: "POST",
            path: "/api/photos/upload",
            token: person.token,
            contentType: "multipart/form-data; boundary=\(boundary)",
            body: Array(head.utf8) + photo + Array("\r\n--\(boundary)--\r\n".utf8),
            key: key,
            timeout: Self.timeout
        )
    }

    private static func post(_ path: String, _ json: String, _ person: Person? = nil) -> API.Request {
        API.Request(method: "POST", path: path, token: person?.token, body: Array(json.utf8))
    }
}

/// A result and whose it is. No tuple: Swift 6.3.1 with `-O` loses those in a task group.
private struct Numbered<Result: Sendable>: Sendable {
    let index: Int
    let result: Result
}

/// Does something for all, eight at once. - Returns: the results in the order of `items`.
func each<Item: Sendable, Result: Sendable>(
    _ items: [Item],
    _ body: @escaping @Sendable (Item) async throws -> Result
) async throws -> [Result] {
    try await withThrowingTaskGroup(of: Numbered<Result>.self) { tasks in
        var results: [Int: Result] = [:]
        for (index, item) in items.enumerated() {
            if index >= 8, let done = try await tasks.next() { results[done.index] = done.result }
            tasks.addTask { Numbered(index: index, result: try await body(item)) }
        }
        for try await done in tasks { results[done.index] = done.result }
        return items.indices.compactMap { results[$0] }
    }
}
