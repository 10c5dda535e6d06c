import Foundation
import Kernel
import TestSupport
import Testing
import Wire

extension Person {
    func delete(password: String = Person.password) async throws -> HTTPReply {
        try await home.call("DELETE", "/api/auth/account", token: token, json: "{\"password\":\(quoted(password))}")
    }

    /// A sign-in that may be refused.
    func login() async throws -> HTTPReply {
        try await home.call(
            "POST",
            "/api/auth/login",
            json: "{\"email\":\(quoted(email)),\"password\":\"\(Self.password)\"}"
        )
    }

    func export() async throws -> HTTPReply { try await get("/api/users/me/export") }

    /// What an administrator does.
    func restore(_ user: String) async throws -> HTTPReply { try await post("/api/admin/accounts/\(user)/restore") }

    /// A new user who may do everything.
    static func administrator(at home: Installation) async throws -> Person {
        var person = try await register("chief", at: home)
        _ = try await home.sql("UPDATE auth.account SET is_admin = true WHERE id = '\(person.id)'")
        try await person.signIn()
        return person
    }

    /// Path and query of the first photo this person has posted.
    func photoLink() async throws -> String {
        let url = try #require(try await export().json["media"]["snaps"][0]["photo_url"].string.flatMap { URL(string: $0) })
        return url.path + "?" + (url.query ?? "")
    }

    /// The blob key of the picture this person has.
    func avatarKey() async throws -> String {
        let url = try #require(try await export().json["media"]["avatars"][0]["avatar_url"].string)
        return try #require(url.split(separator: "/media/").last.map(String.init))
    }

    /// Names of the friends this person sees.
    func friends() async throws -> [String] {
        let reply = try await get("/api/friends")
        try #require(reply.status == 200, "\(reply.text)")
        return reply.data["friends"].list.compactMap { $0["user"]["username"].string }
    }
}

extension Installation {
    /// Puts an event into the outbox of a service, as its own transaction would have done. - Returns: its id.
    @discardableResult
    func emit(_ event: any Event, from service: String) async throws -> String {
        let id = UUID().uuidString.lowercased()
        let body = try event.serialized().map { String(format: "%02x", $0) }.joined()
        _ = try await sql(
            """
            INSERT INTO \(service).outbox (id, aggregate, subject, trace, request_id, body)
            VALUES ('\(id)', '\(event.aggregateID)', '\(type(of: event).subject)', '', 'test', '\\x\(body)')
            """
        )
        return id
    }

    /// Waits until these services have consumed an event, in the features whose answers depend on it: `features` says how many where it is
    /// more than one.
    func consumed(_ event: String, by services: [String], features: [String: Int] = [:]) async throws {
        for service in services {
            try await eventually("\(service) has consumed it") {
                let inbox = try await sql(
                    """
                    SELECT count(*) FROM \(service).inbox WHERE event_id = '\(event)' AND feature NOT IN ('analytics', 'rewards')
                    """
                )
                let retry = try await sql("SELECT count(*) FROM \(service).event_retry WHERE event_id = '\(event)'")
                return (Int(inbox) ?? 0) >= features[service] ?? 1 && retry == "0"
            }
        }
    }

    /// Every row of every table, as text, that holds one of the words in any case: also as bytes.
    func rows(holding words: [String]) async throws -> [String] {
        let tables = try await sql(
            """
            SELECT format('%I.%I', table_schema, table_name) FROM information_schema.tables
            WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1
            """
        ).split(separator: "\n").map(String.init)
        try #require(tables.count > 30, "\(tables)")
        let needles = words.flatMap { word in
            [word.lowercased(), word.utf8.map { String(format: "%02x", $0) }.joined()]
        }
        let statements = tables.map { "SELECT '\($0): ' || t::text FROM \($0) t;" }.joined()
        return try await sql(statements).split(separator: "\n").map(String.init).filter { row in
            needles.contains { row.lowercased().contains($0) }
        }
    }

    /// Stored files whose path names a user.
    func blobs(of person: Person) -> [String] {
        Files.all(below: data.appending(path: "blobs")).map(\.path).filter { $0.contains(person.id) }
    }

    /// Sets the development clock of this installation, forward: `2030-01-07T11:00:00Z`.
    func travel(to time: String) async throws {
        let reply = try await call("POST", "/api/dev/clock", json: "{\"set\":\"\(time)\"}")
        try #require(reply.status == 200, "\(reply.text)")
    }

    /// Moves the development clock of this installation.
    func travel(days: Int, seconds: Int = 0) async throws {
        let reply = try await call("POST", "/api/dev/clock", json: "{\"advance_seconds\":\(days * 86_400 + seconds)}")
        try #require(reply.status == 200, "\(reply.text)")
    }
}
