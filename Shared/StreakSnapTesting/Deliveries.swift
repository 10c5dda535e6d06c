import Foundation
public import StreakSnapClient

/// A push that Expo's push service was handed and took.
public struct TestPush: Sendable, Hashable {
    /// The token of the device.
    public let to: String
    /// The first line.
    public let title: String
    /// The text.
    public let body: String
    /// What the app gets beside it, such as `type`, `deep_link` and `notification_id`; numbers as texts.
    public let data: [String: String]

    /// What it is about.
    public var kind: Notifications.Kind? { data["type"].map { Notifications.Kind(rawValue: $0) } }

    init(_ value: JSONValue) throws {
        to = try value.text("to")
        (title, body) = (value.optionalText("title") ?? "", value.optionalText("body") ?? "")
        if case .object(let members) = value["data"] { data = members.compactMapValues(\.plain) } else { data = [:] }
    }
}

/// A mail that the mail server took.
public struct TestMail: Sendable, Hashable {
    /// The sender's address.
    public let from: String
    /// The address it went to.
    public let to: String
    /// The subject.
    public let subject: String
    /// The plain text part, decoded.
    public let text: String
    /// The whole message.
    public let raw: String

    /// The token in its link, for `verifyEmail` and `resetPassword`; nil without one.
    public var linkToken: String? { text.firstMatch(of: /\/(?:verify|reset)\/([A-Za-z0-9_-]+)/).map { String($0.1) } }

    init(_ value: JSONValue) throws {
        (from, to) = (try value.text("from"), try value.text("to"))
        (subject, text, raw) = (try value.text("subject"), try value.text("text"), try value.text("raw"))
    }
}

extension TestWorld {
    /// Pushes to a person's device, oldest first. That none was sent shows when nothing is under way (``waitUntilQuiet()``).
    ///
    /// - Parameters:
    ///   - person: nil for everyone's.
    ///   - count: waits until there are so many, 0 to 1,000.
    ///   - limit: how long it waits at most, up to a minute. Then it answers with what there is.
    public func pushes(
        to person: TestPerson? = nil,
        atLeast count: Int = 0,
        within limit: Duration = .seconds(5)
    ) async throws -> [TestPush] {
        if let person, person.pushToken == nil {
            throw TestKitError("VALIDATION_ERROR", "\(person.name) has no device: people(push: true) registers one", field: "to")
        }
        return try await deliveries("/pushes", to: person?.pushToken, count, limit).list("pushes").map { try TestPush($0) }
    }

    /// Waits for a push of one kind.
    ///
    /// - Returns: the newest.
    /// - Throws: ``TestKitError`` `NEVER_HAPPENED`.
    public func push(_ kind: Notifications.Kind, to person: TestPerson, within limit: Duration = .seconds(10)) async throws
        -> TestPush
    {
        try await newest("a push \(kind.rawValue) to \(person.name)", within: limit) {
            try await pushes(to: person).last { $0.kind == kind }
        }
    }

    /// Mails to an address, oldest first; the parameters as of ``pushes(to:atLeast:within:)``.
    public func mails(
        to address: String? = nil,
        atLeast count: Int = 0,
        within limit: Duration = .seconds(5)
    ) async throws -> [TestMail] {
        try await deliveries("/mails", to: address, count, limit).list("mails").map { try TestMail($0) }
    }

    /// Waits for a mail whose subject has these words.
    ///
    /// - Returns: the newest.
    /// - Throws: ``TestKitError`` `NEVER_HAPPENED`.
    public func mail(_ subject: String, to person: TestPerson, within limit: Duration = .seconds(10)) async throws -> TestMail {
        try await newest("a mail “\(subject)” to \(person.email)", within: limit) {
            try await mails(to: person.email).last { $0.subject.localizedCaseInsensitiveContains(subject) }
        }
    }

    /// Removes the pushes that were taken so far.
    public func deletePushes() async throws { try await call("DELETE", "/pushes") }

    /// Removes the mails that were taken so far.
    public func deleteMails() async throws { try await call("DELETE", "/mails") }

    private func deliveries(_ path: String, to: String?, _ count: Int, _ limit: Duration) async throws -> JSONValue {
        var query = [("at_least", String(count)), ("within_seconds", String(Int(limit.inSeconds.rounded(.up))))]
        if let to { query.append(("to", to)) }
        return try await call("GET", path, query: query)
    }

    private func newest<Found>(_ what: String, within limit: Duration, _ find: () async throws -> Found?) async throws -> Found {
        var found: Found?
        try await eventually(what, within: limit) {
            found = try await find()
            return found != nil
        }
        guard let found else { throw TestKitError("NEVER_HAPPENED", what) }
        return found
    }
}

/// Waits until a condition holds, and asks for it more and more rarely.
///
/// - Parameters:
///   - what: completes “never happened within …: ”.
///   - limit: how long to wait.
///   - condition: asked at least once; what it throws ends the wait.
/// - Throws: ``TestKitError`` `NEVER_HAPPENED`; what the condition throws.
public func eventually(
    _ what: String,
    within limit: Duration = .seconds(10),
    _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    var pause = Duration.milliseconds(10)
    while true {
        let isLast = ContinuousClock.now >= end
        if try await condition() { return }
        if isLast { throw TestKitError("NEVER_HAPPENED", "never happened within \(limit): \(what)") }
        try await Task.sleep(for: pause)
        pause = min(pause * 2, .milliseconds(100))
    }
}
