import Foundation
import Synchronization
import TestSupport
import Testing

@testable import StreakSnapClient

@Suite(.timeLimit(.minutes(5))) struct EventTests {
    @Test func `the stream goes on where it was, whatever cut it`() async throws {
        let server = try LocalServer { request, count in
            switch count {
            case 0:
                .pieces(
                    [
                        "retry: 1500\n\nid: 5\nevent: reset\nda",
                        "ta: {}\n\n:\n\nid: 6\nevent: unread_count\ndata: {\"unread_count\":2}\n\nid: 7\n",
                    ],
                    type: "text/event-stream"
                )
            case 1: .drop
            case 2: refusal(503, "UNAVAILABLE", headers: ["Retry-After": "2"])
            default:
                .pieces(
                    ["id: 7\nevent: streak\ndata: {\"streak_id\":\"s\",\"status\":\"broken\",\"count\":null}\n\n"],
                    type: "text/event-stream"
                )
            }
        }
        let pauses = Pauses()
        let client = try StreakSnap.test(server, pauses: pauses)
        var kinds: [ServerEvent.Kind] = []
        for try await event in client.events(after: "4") {
            kinds.append(event.kind)
            if kinds.count == 3 { break }
        }
        #expect(kinds == [.reset, .unreadCount(2), .streak(id: "s", status: "broken", count: nil)])
        #expect(server.requests.map { $0.headers["last-event-id"] } == ["4", "6", "6", "6"])
        #expect(pauses.list.first == .milliseconds(1_500), "as the server has asked")
        #expect(pauses.list.count == 3 && pauses.list[2] > .seconds(2))
    }

    @Test func `a stream renews its token, and ends with the session`() async throws {
        let server = try LocalServer { request, _ in
            switch (request.target, request.headers["authorization"]) {
            case ("/api/auth/refresh", _):
                request.json["refresh_token"] == "refresh-1"
                    ? success(
                        #"{"access_token":"access-2","refresh_token":"refresh-2","expires_in":900,"user":{"id":"u"}}"#
                    ) : refusal(401, "INVALID_REFRESH_TOKEN")
            case (_, "Bearer access-1"), (_, nil): refusal(401, "TOKEN_EXPIRED")
            default:
                request.headers["last-event-id"] == nil
                    ? .pieces(["id: 1\nevent: reset\ndata: {}\n\n"], type: "text/event-stream") : refusal(401, "SESSION_REVOKED")
            }
        }
        let client = try StreakSnap.test(server)
        var count = 0
        let error = await #expect(throws: StreakSnapError.self) { for try await _ in client.events() { count += 1 } }
        #expect(count == 1)
        #expect(error?.kind == .signedOut)
    }

    @Test func `a cancelled stream ends its connection`() async throws {
        let server = try LocalServer { _, _ in .silence }
        let client = try StreakSnap.test(server)
        let reading = Task { for try await _ in client.events() {} }
        try await eventually("it is connected") { server.requests.count == 1 }
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
    }

    @Test(arguments: 0..<50) func `events are the same in whatever pieces they come`(_ seed: UInt64) {
        let text =
            "\u{FEFF}: c\r\nid: 1\r\nevent: a\r\ndata: x\r\ndata:y\r\n\r\nid\ndata\n\nevent: b\rdata: zé\r\rid: 9\ndata: cut"
        let bytes = Array(text.dropFirst().utf8)
        var whole = EventParser()
        let expected = whole.read(bytes)
        #expect(expected.map(\.data) == ["x\ny", "", "zé"])
        #expect(expected.map(\.name) == ["a", "message", "b"])
        var (state, pieces, parser) = (seed, bytes[...], EventParser())
        var events: [EventParser.Raw] = []
        while !pieces.isEmpty {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let piece = pieces.prefix(Int(state >> 33) % 7 + 1)
            events += parser.read(piece)
            pieces = pieces.dropFirst(piece.count)
        }
        #expect(events == expected)
    }
}
