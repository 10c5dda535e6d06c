import Foundation
import Kernel
import OutgoingHTTP

/// The public API as a phone uses it: what is not answered is asked again, the same.
struct API: Sendable {
    /// A refusal, or no answer for too long.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// What was answered in the end.
    struct Answer: Sendable {
        let body: [UInt8]
        /// How often it was asked before.
        let retries: Int
        let took: Duration
    }

    /// A request that may be repeated.
    struct Request: Sendable {
        var method = "GET"
        var path: String
        var token: String?
        var contentType = "application/json"
        var body: [UInt8]?
        var key: String?
        var timeout = Interval.seconds(30)
    }

    private struct Envelope<Value: Decodable>: Decodable {
        struct Meta: Decodable {
            let nextCursor: String?
        }
        let data: Value
        let meta: Meta?
    }

    /// A page of a list.
    struct Page<Value> {
        let data: Value
        /// Goes into `cursor` for the next one; nil at the end.
        let next: String?
    }

    private struct Refusal: Decodable {
        struct Cause: Decodable {
            let code: String
        }
        let error: Cause
    }

    let address: String
    private let http = OutgoingHTTP(threads: 40, queueLimit: 1_000, keepsConnections: true)

    init(address: String) { self.address = address }

    /// Sends it once.
    func send(_ request: Request) async throws -> OutgoingHTTP.Reply {
        var headers: [(name: String, value: String)] = []
        if let token = request.token { headers.append(("Authorization", "Bearer \(token)")) }
        if let key = request.key { headers.append(("Idempotency-Key", key)) }
        if request.body != nil { headers.append(("Content-Type", request.contentType)) }
        return try await http.send(
            OutgoingHTTP.Request(
                request.method,
                address + request.path,
                headers: headers,
                body: request.body,
                timeout: request.timeout,
                mostBytes: 4 << 20
            )
        )
    }

    /// Repeats a request until it is answered with success.
    ///
    /// - Throws: `Failure` for a final refusal, and when there is no answer within `limit`.
    func insist(_ request: Request, within limit: Duration = .seconds(150)) async throws -> Answer {
        let started = ContinuousClock.now
        var retries = 0
        var last = "nothing"
        while started.duration(to: .now) < limit {
            do {
                let reply = try await send(request)
                if reply.status < 300 { return Answer(body: reply.body, retries: retries, took: started.duration(to: .now)) }
                last = "\(reply.status) \(String(decoding: reply.body, as: UTF8.self))"
                let code = (try? JSONDecoder().decode(Refusal.self, from: Data(reply.body)))?.error.code
                guard reply.status >= 500 || reply.status == 429 || code == "REQUEST_IN_PROGRESS" else {
                    throw Failure(description: "\(request.method) \(request.path) was refused: \(last)")
                }
            } catch let failure as OutgoingHTTP.Failure { last = "\(failure)" }
            retries += 1
            try await Task.sleep(for: .milliseconds(min(50 * retries, 400)))
        }
        throw Failure(description: "\(request.method) \(request.path) got no answer within \(limit), last \(last)")
    }

    /// The `data` of the answer.
    func ask<Value: Decodable>(_ request: Request, as type: Value.Type = Value.self) async throws -> Value {
        try Self.data(try await insist(request).body)
    }

    /// The `data` of the answer, and where the list goes on.
    func askPage<Value: Decodable>(_ request: Request, as type: Value.Type = Value.self) async throws -> Page<Value> {
        let envelope = try Self.envelope(try await insist(request).body, of: type)
        return Page(data: envelope.data, next: envelope.meta?.nextCursor)
    }

    static func data<Value: Decodable>(_ body: [UInt8], as type: Value.Type = Value.self) throws -> Value {
        try envelope(body, of: type).data
    }

    private static func envelope<Value: Decodable>(_ body: [UInt8], of _: Value.Type) throws -> Envelope<Value> {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        do { return try decoder.decode(Envelope<Value>.self, from: Data(body)) } catch {
            throw Failure(description: "not understood: \(String(decoding: body.prefix(2_000), as: UTF8.self)): \(error)")
        }
    }
}

// What is looked at of the replies. The names are those of the JSON, so identifiers end in «Id».

struct Session: Decodable {
    struct User: Decodable {
        let id: String
    }
    let user: User
    let accessToken: String
}

struct Asked: Decodable {
    let friendshipId: String
}

struct Accepted: Decodable {
    struct Streak: Decodable {
        let streakId: String
    }
    let streak: Streak
}

struct Snap: Decodable {
    let id: String
}

struct Uploaded: Decodable {
    struct Outcome: Decodable {
        let accepted: Bool
    }
    let snap: Snap
    let streaks: [Outcome]
}

struct Detail: Decodable {
    struct Streak: Decodable {
        let currentCount: Int
        let longestCount: Int
    }
    struct Day: Decodable {
        let date: String
        let completed: Bool?
        let partnerCompleted: Bool?
    }
    let streak: Streak
    let photoCount: Int
    let calendar: [Day]
    let yourSnap: Snap?
    let friendSnap: Snap?
}

struct Feed: Decodable {
    struct Item: Decodable {
        let yourSnap: Snap?
        let friendSnap: Snap?
    }
    let items: [Item]
}

struct History: Decodable {
    struct Day: Decodable {
        let date: String
        let yourSnap: Snap?
        let friendSnap: Snap?
    }
    let days: [Day]
}

struct Profile: Decodable {
    struct Stats: Decodable {
        let totalPhotos: Int
        let totalActiveStreaks: Int
    }
    let stats: Stats
}

struct Nothing: Decodable {}

struct Time: Decodable {
    let now: String
}
