import Foundation
import Kernel
import NIOCore
import NIOEmbedded
import Synchronization
import TestSupport
import Testing
import Tokens
import Transcoding

@testable import GatewayService

/// What one stream keeps, and when it ends, without a connection.
struct EventStreamTests {
    /// Takes what is written; while it is shut a write waits, as on a connection that takes no more.
    private final class Sink: Sendable {
        private let state = Mutex((text: "", isShut: false, isFinished: false))

        var text: String { state.withLock { $0.text } }
        var isFinished: Bool { state.withLock { $0.isFinished } }
        func shut(_ isShut: Bool) { state.withLock { $0.isShut = isShut } }

        func write(_ buffer: ByteBuffer) async throws {
            while state.withLock({ $0.isShut }) { try await Task.sleep(for: .milliseconds(1)) }
            state.withLock { $0.text += String(buffer: buffer) }
        }

        func finish() { state.withLock { $0.isFinished = true } }
    }

    private func stream() throws -> EventStream {
        let url = try #require(Bundle.module.url(forResource: "Fixtures/watch.binpb", withExtension: nil))
        let table = RouteTable()
        table.install(try DescriptorSet(serialized: [UInt8](try Data(contentsOf: url))), service: "watch")
        let token = AccessToken(
            userID: UserID(high: 1, low: 1),
            sessionID: SessionID(high: 1, low: 1),
            email: "",
            role: .user,
            issuedAt: .epoch,
            expiresAt: SystemClock.now() + .minutes(1)
        )
        return EventStream(
            lease: LeaseID(high: 1, low: 1),
            token: token,
            route: try #require(table.routes.first { $0.method == "Events" }),
            lastEventID: "0",
            channel: EmbeddedChannel()
        )
    }

    private func event(_ id: Int64, bytes: Int = 2) -> StreamEvent {
        StreamEvent(id: id, name: "note", data: String(repeating: "x", count: bytes))
    }

    private func writing(_ stream: EventStream, to sink: Sink) -> Task<Void, any Error> {
        Task {
            while let text = await withCheckedContinuation({ next in stream.next { next.resume(returning: $0) } }) {
                try await sink.write(text)
            }
            sink.finish()
        }
    }

    @Test func `what is kept for a client that does not read is bounded, and it is left`() async throws {
        let (stream, sink) = (try stream(), Sink())
        sink.shut(true)
        let task = writing(stream, to: sink)
        try await eventually("it writes") { stream.tick(.now + EventStream.writeLimit * 2) == .tooSlow }
        // One answer of the service may be large.
        #expect(stream.answered(StreamPage(events: [event(1, bytes: 200_000)], lastID: 1)).outcome == .nothing)
        var outcomes: [EventStream.Outcome] = []
        for id in Int64(2)...200 {
            outcomes.append(stream.received([event(id, bytes: 1_000)]).outcome)
            if outcomes.last != .nothing { break }
        }
        #expect(outcomes.last == .tooSlow && outcomes.count > 30 && outcomes.count <= 65, "\(outcomes.count)")
        #expect(stream.end())
        sink.shut(false)
        try await task.value
    }

    @Test func `one write that takes too long is too slow, however little waits`() async throws {
        let (stream, sink) = (try stream(), Sink())
        _ = stream.answered(StreamPage(events: [], lastID: 0))
        sink.shut(true)
        let task = writing(stream, to: sink)
        try await eventually("it writes") { stream.tick(.now + EventStream.writeLimit * 2) == .tooSlow }
        #expect(stream.tick(.now) == .nothing)
        _ = stream.end()
        sink.shut(false)
        try await task.value
    }

    @Test func `a quiet stream gets a comment, one with events none`() async throws {
        let (stream, sink) = (try stream(), Sink())
        let task = writing(stream, to: sink)
        try await eventually("the beginning is written") { sink.text.hasPrefix("retry: ") }
        _ = stream.answered(StreamPage(events: [event(1)], lastID: 1))
        let began = ContinuousClock.now
        #expect(stream.tick(began + .seconds(5)) == .nothing)
        // While the event is being written there is no comment.
        try await eventually("there is one comment") {
            #expect(stream.tick(began + .seconds(16)) == .nothing)
            return sink.text.hasSuffix("data: xx\n\n:\n\n")
        }
        #expect(stream.tick(began + .seconds(20)) == .nothing)
        #expect(stream.end())
        try await task.value
        #expect(sink.isFinished && sink.text.components(separatedBy: ":\n\n").count == 2)
    }

    @Test func `what was sent before the end arrives, what comes after it does not`() async throws {
        let (stream, sink) = (try stream(), Sink())
        #expect(stream.answered(StreamPage(events: [event(1)], lastID: 1)).count == 1)
        #expect(stream.end() && !stream.end())
        #expect(stream.received([event(2)]).count == 0)
        try await writing(stream, to: sink).value
        #expect(sink.text.contains("id: 1\n") && !sink.text.contains("id: 2\n") && sink.isFinished)
    }
}
