import Foundation
import Images
import Testing

/// A user of one installation.
struct Person: Sendable {
    static let password = "correct-horse-battery"

    let home: Installation
    let username: String
    let email: String
    private(set) var id = ""
    private(set) var token = ""
    private(set) var refreshToken = ""

    /// A new user who has accepted the terms of service (AU-9).
    ///
    /// - Parameter zone: by default the installation's.
    static func register(_ name: String, at home: Installation, zone: String? = nil) async throws -> Person {
        var person = Person(home: home, username: unique(name))
        let registration = person.registration(zone: zone)
        try person.take(try await patiently { try await home.call("POST", "/api/auth/register", json: registration) }, 201)
        let accepted = try await person.acceptTerms()
        try #require(accepted.status == 200, "\(accepted.text)")
        return person
    }

    /// An address that asks for more hashes at once than it may have is refused, and asks again.
    static func patiently(_ ask: () async throws -> HTTPReply) async throws -> HTTPReply {
        for _ in 0..<20 {
            let reply = try await ask()
            guard reply.status == 429, reply.header("Retry-After") == "1" else { return reply }
            try await Task.sleep(for: .milliseconds(200))
        }
        return try await ask()
    }

    func acceptTerms(key: String? = nil) async throws -> HTTPReply {
        try await post("/api/users/me/terms", "{\"version\":\"2026-01\"}", key: key)
    }

    init(home: Installation, username: String) {
        (self.home, self.username, self.email) = (home, username, "\(username)@example.com")
    }

    static func unique(_ name: String) -> String { "\(name).\(UUID().uuidString.prefix(8).lowercased())" }

    func registration(zone: String? = nil) -> String {
        """
        {"email":\(quoted(email)),"password":"\(Self.password)","username":"\(username)","display_name":"\(username.prefix { $0 != "." })",
        "time_zone":"\(zone ?? home.zone)"}
        """
    }

    /// A new session.
    mutating func signIn() async throws {
        let (home, login) = (home, "{\"email\":\(quoted(email)),\"password\":\"\(Self.password)\"}")
        try take(try await Self.patiently { try await home.call("POST", "/api/auth/login", json: login) }, 200)
    }

    /// Keeps what a reply to a sign-in says.
    mutating func take(_ reply: HTTPReply, _ status: Int) throws {
        try #require(reply.status == status, "\(reply.text)")
        id = try #require(reply.data["user"]["id"].string)
        token = try #require(reply.data["access_token"].string)
        refreshToken = try #require(reply.data["refresh_token"].string)
    }

    func get(_ path: String) async throws -> HTTPReply { try await home.call("GET", path, token: token) }

    func post(_ path: String, _ json: String? = nil, key: String? = nil) async throws -> HTTPReply {
        try await home.call("POST", path, token: token, json: json, headers: key.map { [("Idempotency-Key", $0)] } ?? [])
    }

    func request(_ friend: Person, key: String? = nil) async throws -> HTTPReply {
        try await post("/api/friends/request", "{\"username\":\"\(friend.username)\"}", key: key)
    }

    func respond(_ friendship: String, _ action: String = "accept", key: String? = nil) async throws -> HTTPReply {
        try await home.call(
            "PUT",
            "/api/friends/\(friendship)/respond",
            token: token,
            json: "{\"action\":\"\(action)\"}",
            headers: key.map { [("Idempotency-Key", $0)] } ?? []
        )
    }

    /// Asks and is accepted. - Returns: the id of the streak that began.
    @discardableResult
    func befriend(_ friend: Person) async throws -> String {
        let asked = try await request(friend)
        try #require(asked.status == 201, "\(asked.text)")
        let friendship = try #require(asked.data["friendship_id"].string)
        let accepted = try await friend.respond(friendship)
        try #require(accepted.status == 200, "\(accepted.text)")
        return try #require(accepted.data["streak"]["streak_id"].string, "\(accepted.text)")
    }

    func upload(_ form: Form, key: String? = nil) async throws -> HTTPReply {
        var headers = [Form.contentType, ("Authorization", "Bearer \(token)")]
        if let key { headers.append(("Idempotency-Key", key)) }
        return try await home.http.send("POST", "/api/photos/upload", headers: headers, body: form.body)
    }

    func upload(_ photo: [UInt8], to streaks: String = "all", caption: String? = nil, key: String? = nil) async throws
        -> HTTPReply
    {
        try await upload(
            Form(photo: photo, fields: [("streak_ids", streaks)] + (caption.map { [("caption", $0)] } ?? [])),
            key: key
        )
    }

    /// - Parameter part: the name of the part the picture is in.
    func setAvatar(_ picture: [UInt8]?, part: String = "avatar", key: String? = nil) async throws -> HTTPReply {
        var headers = [Form.contentType, ("Authorization", "Bearer \(token)")]
        if let key { headers.append(("Idempotency-Key", key)) }
        let body = Form(photo: picture, part: part).body
        return try await home.http.send("PUT", "/api/users/me/avatar", headers: headers, body: body)
    }

    /// Stores the photo of a date of a habit.
    func setHabitPhoto(_ photo: [UInt8]?, of habit: String, on date: String, key: String? = nil) async throws -> HTTPReply {
        var headers = [Form.contentType, ("Authorization", "Bearer \(token)")]
        if let key { headers.append(("Idempotency-Key", key)) }
        let path = "/api/habits/\(habit)/completions/\(date)/photo"
        return try await home.http.send("PUT", path, headers: headers, body: Form(photo: photo).body)
    }

    /// Posts a photo pinned to a place.
    ///
    /// - Parameter fields: besides the position: caption, precision, post_id.
    func pin(
        _ photo: [UInt8],
        at latitude: Double,
        _ longitude: Double,
        _ fields: [(String, String)] = [],
        key: String? = nil
    ) async throws -> HTTPReply {
        var headers = [Form.contentType, ("Authorization", "Bearer \(token)")]
        if let key { headers.append(("Idempotency-Key", key)) }
        let form = Form(photo: photo, fields: [("latitude", "\(latitude)"), ("longitude", "\(longitude)")] + fields)
        return try await home.http.send("POST", "/api/posts", headers: headers, body: form.body)
    }

    /// The notifications of one kind.
    func notifications(_ kind: String) async throws -> [JSON] {
        let reply = try await get("/api/notifications?limit=100")
        try #require(reply.status == 200, "\(reply.text)")
        return reply.data["notifications"].list.filter { $0["type"].string == kind }
    }
}

/// Real photos, each made once.
enum Photos {
    static let secretComment = "made at 12 Hidden Lane"

    /// A JPEG with position, description and XMP.
    static func jpeg(_ seed: UInt64, width: Int = 400, height: Int = 300) throws -> [UInt8] {
        try SamplePhoto(
            seed: seed,
            width: width,
            height: height,
            location: (latitude: 52.52, longitude: 13.405),
            comment: secretComment
        ).jpeg()
    }

    static func png(_ seed: UInt64) throws -> [UInt8] {
        try SamplePhoto(
            seed: seed,
            width: 320,
            height: 240,
            location: (latitude: 52.52, longitude: 13.405),
            comment: secretComment
        ).png()
    }

    /// The size that the frame header of a JPEG has; nil when these bytes are none.
    static func size(ofJPEG bytes: [UInt8]) -> (width: Int, height: Int)? {
        guard bytes.starts(with: [0xFF, 0xD8]) else { return nil }
        var index = 2
        while index + 9 < bytes.count, bytes[index] == 0xFF {
            let marker = bytes[index + 1]
            if (0xC0...0xCF).contains(marker), ![0xC4, 0xC8, 0xCC].contains(marker) {
                return (Int(bytes[index + 7]) << 8 | Int(bytes[index + 8]), Int(bytes[index + 5]) << 8 | Int(bytes[index + 6]))
            }
            index += 2 + Int(bytes[index + 2]) << 8 + Int(bytes[index + 3])
        }
        return nil
    }

    /// Which marks of metadata these bytes hold.
    static func metadata(in bytes: [UInt8]) -> [String] {
        ["Exif", "http://ns.adobe.com/xap", "xmpmeta", secretComment, "GPS"].filter {
            bytes.firstRange(of: Array($0.utf8)) != nil
        }
    }
}

extension Person {
    /// How many of the person's snaps count for streaks with friends; a snap counts for the `daily_snap` streak too, a moment later.
    func sharedContributions() async throws -> String {
        try await home.sql(
            """
            SELECT count(*) FROM streaks.contribution c JOIN streaks.streak s ON s.id = c.streak_id
            WHERE s.kind = 1 AND c.user_id = '\(id)'
            """
        )
    }
}
