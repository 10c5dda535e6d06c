import Foundation
import Synchronization
import TestSupport
import Testing

@testable import StreakSnapClient

@Suite(.timeLimit(.minutes(5))) struct CallTests {
    @Test func `a request travels as the gateway takes it, and the reply comes back as values`() async throws {
        let server = try LocalServer { request, _ in
            request.verb == "GET"
                ? success(
                    #"{"notifications":[],"unread_count":3,"news":1}"#,
                    meta: #"{"next_cursor":"c-2","total":null,"request_id":"r"}"#
                ) : success(#"{"friendship_id":"f-1","status":"quite_new","direction":"outgoing","user":{"user_id":"u-2"}}"#)
        }
        let client = try StreakSnap.test(server)
        let asked = try await client.friends.sendFriendRequest(username: "ben")
        #expect(asked.friendshipID == "f-1")
        #expect(asked.status == Social.FriendshipStatus(rawValue: "quite_new"), "a value of a newer server is kept")
        let list = try await client.notifications.list(limit: 7)
        #expect(list.unreadCount == 3)
        #expect(list.meta?.nextCursor == "c-2")
        let requests = server.requests
        #expect(requests.map(\.verb) == ["POST", "GET"])
        #expect(requests[0].target == "/api/friends/request")
        #expect(requests[0].json == ["username": "ben"])
        #expect(requests[0].headers["authorization"] == "Bearer access-1")
        #expect(requests[0].headers["idempotency-key"] != nil)
        #expect(requests[1].target == "/api/notifications?limit=7")
        #expect(requests[1].headers["idempotency-key"] == nil)
    }

    @Test func `path values are encoded, and do not travel twice`() async throws {
        let server = try LocalServer { _, _ in success(#"{"friendship_id":"f-1","status":"accepted","user":{"user_id":"u-2"}}"#) }
        let client = try StreakSnap.test(server)
        try await client.friends.respondToFriendRequest(friendshipID: "a/b c", action: .accept)
        #expect(server.requests[0].target == "/api/friends/a%2Fb%20c/respond")
        #expect(server.requests[0].json == ["action": "accept"])
        await #expect(throws: StreakSnapError.self) { try await client.friends.nudge(friendID: "") }
        #expect(server.requests.count == 1, "a path without its value is not sent")
    }

    @Test func `a refusal is an error with code, details and request id, and is not repeated`() async throws {
        let server = try LocalServer { request, _ in
            request.target.contains("mobile")
                ? refusal(400, "NO_FREEZES_AVAILABLE", details: #"{"freezes_available":0}"#)
                : refusal(400, "VALIDATION_ERROR", details: #"[{"field":"username","message":"is required"}]"#)
        }
        let client = try StreakSnap.test(server)
        let error = await #expect(throws: StreakSnapError.self) { try await client.friends.sendFriendRequest(username: "") }
        #expect(error?.code == .validationError)
        #expect(error?.status == 400)
        #expect(error?.requestID == "r-1")
        #expect(error?.details == [StreakSnapError.Detail(field: "username", message: "is required")])
        let today = try #require(CalendarDate(text: "2026-01-02"))
        let exact = await #expect(throws: StreakSnapError.self) { try await client.checkIns.useFreeze(date: today) }
        #expect(exact?.code == .noFreezesAvailable)
        #expect(exact?.details == [StreakSnapError.Detail(field: "freezes_available", message: "0")])
        #expect(server.requests.count == 2)
    }

    @Test func `a change whose connection was cut is repeated with the same key and the same bytes`() async throws {
        let server = try LocalServer { _, count in
            count < 2 ? .drop : success(#"{"friendship_id":"f-1","user":{"user_id":"u-2"}}"#)
        }
        let pauses = Pauses()
        let client = try StreakSnap.test(server, pauses: pauses)
        try await client.friends.sendFriendRequest(username: "ben")
        let requests = server.requests
        #expect(requests.count == 3)
        #expect(Set(requests.map { $0.headers["idempotency-key"] }).count == 1)
        #expect(Set(requests.map(\.body)).count == 1)
        #expect(pauses.list == [.milliseconds(150), .milliseconds(300)])
    }

    @Test func `Retry-After is the least pause, and the number of attempts is bounded`() async throws {
        let server = try LocalServer { _, _ in refusal(503, "UNAVAILABLE", headers: ["Retry-After": "7"]) }
        let pauses = Pauses()
        let client = try StreakSnap.test(server, pauses: pauses)
        let error = await #expect(throws: StreakSnapError.self) { try await client.snaps.getFeed() }
        #expect(error?.retryAfter == .seconds(7))
        #expect(server.requests.count == 4)
        #expect(pauses.list.count == 3 && pauses.list.allSatisfy { $0 >= .seconds(7) })
    }

    @Test func `no attempt is made that the deadline would cut`() async throws {
        let server = try LocalServer { _, _ in refusal(503, "UNAVAILABLE", headers: ["Retry-After": "3600"]) }
        let client = try StreakSnap.test(server)
        await #expect(throws: StreakSnapError.self) {
            try await client.snaps.getFeed(options: CallOptions(deadline: .seconds(30)))
        }
        #expect(server.requests.count == 1)
    }

    @Test func `a server that is silent is given up at the deadline`() async throws {
        let server = try LocalServer { _, _ in .silence }
        let client = try StreakSnap.test(server)
        let error = await #expect(throws: StreakSnapError.self) {
            try await client.snaps.getFeed(options: CallOptions(deadline: .milliseconds(300)))
        }
        #expect(error?.kind == .timedOut)
    }

    @Test func `a cancelled call ends`() async throws {
        let server = try LocalServer { _, _ in .silence }
        let client = try StreakSnap.test(server)
        let call = Task { try await client.snaps.getFeed() }
        try await eventually("the request has come") { server.requests.count == 1 }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        let before = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await client.snaps.getFeed()
        }
        await #expect(throws: CancellationError.self) { try await before.value }
    }

    @Test func `a client that is not signed in asks nothing`() async throws {
        let server = try LocalServer { _, _ in success("{}") }
        let client = try StreakSnap.test(server, store: MemorySessionStore())
        let error = await #expect(throws: StreakSnapError.self) { try await client.snaps.getFeed() }
        #expect(error?.kind == .signedOut)
        #expect(server.requests.isEmpty)
    }

    @Test func `a reply of another form is an error of its own`() async throws {
        let server = try LocalServer { _, _ in .reply(200, "<html>", headers: ["Content-Type": "text/html"]) }
        let client = try StreakSnap.test(server)
        let error = await #expect(throws: StreakSnapError.self) { try await client.snaps.getFeed() }
        #expect(error?.kind == .badReply)
    }

    @Test func `all pages of a list are walked, each when it is needed`() async throws {
        let server = try LocalServer { request, _ in
            let cursor = request.target.components(separatedBy: "cursor=").dropFirst().first ?? "0"
            let page = Int(cursor.prefix { $0.isNumber }) ?? 0
            let next = page < 2 ? "\"\(page + 1)\"" : "null"
            let entry = #"{"circle_id":"c-\#(page)","name":"n","role":"member"}"#
            return success("{\"circles\":[\(entry)]}", meta: "{\"next_cursor\":\(next),\"total\":3,\"request_id\":\"r\"}")
        }
        let client = try StreakSnap.test(server)
        var pages = client.circles.listCirclesPages(limit: 1).makeAsyncIterator()
        _ = try await pages.next()
        #expect(server.requests.count == 1)
        var count = 0
        for try await _ in client.circles.listCirclesAll(limit: 1) { count += 1 }
        #expect(count == 3)
        #expect(server.requests.count == 4)
    }

    @Test func `a file is written to its destination`() async throws {
        let server = try LocalServer { _, _ in
            .reply(
                200,
                "Habit Name,Date\n",
                headers: ["Content-Type": "text/csv", "Content-Disposition": "attachment; filename=\"habits.csv\""]
            )
        }
        let client = try StreakSnap.test(server)
        let inMemory = try await client.habitFiles.exportHabits(format: "csv")
        #expect(String(decoding: inMemory.data, as: UTF8.self) == "Habit Name,Date\n")
        #expect(inMemory.suggestedName == "habits.csv")
        let folder = try Folder()
        let target = folder.url.appendingPathComponent("habits.csv")
        let onDisk = try await client.habitFiles.exportHabits(destination: target)
        #expect(onDisk.file == target && onDisk.data.isEmpty)
        #expect(try String(contentsOf: target, encoding: .utf8) == "Habit Name,Date\n")
    }

    @Test func `a redirect to another server does not carry the token`() async throws {
        let other = try LocalServer { _, _ in .reply(200, "{}") }
        let address = try other.url.absoluteString
        let server = try LocalServer { _, _ in .reply(302, "", headers: ["Location": address + "/file"]) }
        let client = try StreakSnap.test(server)
        _ = try await client.accounts.exportMyData()
        #expect(server.requests[0].headers["authorization"] != nil)
        #expect(other.requests.count == 1)
        #expect(other.requests[0].headers["authorization"] == nil)
    }
}
