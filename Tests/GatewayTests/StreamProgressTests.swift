import Foundation
import NIOCore
import TestSupport
import Testing
import Transcoding

@testable import GatewayService

@Suite("How far a stream is")
struct StreamProgressTests {
    private func event(_ id: Int64) -> StreamEvent { StreamEvent(id: id, name: "note", data: "{}") }

    private func page(_ ids: ClosedRange<Int64>?, last: Int64) -> StreamPage {
        StreamPage(events: ids.map { $0.map(event) } ?? [], lastID: last)
    }

    @Test func `it begins with a question, and what comes meanwhile is asked for, not kept`() {
        var progress = StreamProgress(lastEventID: "3")
        #expect(progress.position == "3" && progress.isAsking)
        let steps = [
            progress.received([event(5)]), progress.answered(page(4...4, last: 4)), progress.answered(page(5...5, last: 5)),
            progress.received([event(6)]),
        ]
        #expect(
            steps == [.init(), .init(events: [event(4)], asks: true), .init(events: [event(5)]), .init(events: [event(6)])]
        )
        #expect(progress.position == "6")
    }

    @Test func `what was sent is not sent again, and a gap is asked for`() {
        var progress = StreamProgress(lastEventID: "")
        _ = progress.answered(page(nil, last: 7))
        let steps = [
            progress.received([event(6), event(7), event(8)]), progress.received([event(10)]),
            // It is asked for already.
            progress.received([event(9)]), progress.answered(page(9...10, last: 10)),
        ]
        #expect(
            steps == [.init(events: [event(8)]), .init(asks: true), .init(), .init(events: [event(9), event(10)])]
        )
    }

    @Test func `an id that the service does not know is not asked for for ever`() {
        var progress = StreamProgress(lastEventID: "1")
        _ = progress.answered(page(nil, last: 1))
        let asks = [
            progress.received([event(99)]).asks, progress.answered(page(nil, last: 1)).asks,
            progress.answered(page(nil, last: 1)).asks,
        ]
        #expect(asks == [true, true, false] && !progress.isAsking)
    }

    @Test func `the newest id that the service reports is compared with what was sent`() {
        var progress = StreamProgress(lastEventID: "")
        // An answer is awaited.
        let early = progress.reported(4)
        _ = progress.answered(page(nil, last: 4))
        let (same, newer) = (progress.reported(4), progress.reported(5))
        #expect(!early && !same && newer && progress.isAsking)
        _ = progress.answered(page(5...5, last: 5))
        let unknown = progress.reported(nil)
        #expect(unknown, "the lease is not known any more")
    }

    /// The client of a service whose messages are lost, doubled and shuffled at random, and which is asked now and then.
    @Test(arguments: 1...300) func `whatever the bus does, every event is sent once and in order`(seed: UInt64) {
        var random = Seeded(seed)
        var progress = StreamProgress(lastEventID: "0")
        var (newest, asking) = (Int64(0), true)
        var underway: [StreamEvent] = []
        var sent: [Int64] = []
        func take(_ step: StreamProgress.Step) {
            sent += step.events.map(\.id)
            if step.asks { asking = true }
        }
        func answer() {
            asking = false
            let from = (Int64(progress.position) ?? 0) + 1
            take(progress.answered(page(from <= newest ? from...newest : nil, last: newest)))
        }
        for _ in 0..<200 {
            switch Int.random(in: 0..<8, using: &random) {
            case 0...2:
                newest += 1
                underway.append(event(newest))
                if Int.random(in: 0..<5, using: &random) == 0 { underway.append(event(newest)) }
            case 3...5:
                underway.shuffle(using: &random)
                if Int.random(in: 0..<4, using: &random) == 0 { _ = underway.popLast() }
                let count = Int.random(in: 0...min(3, underway.count), using: &random)
                take(progress.received(Array(underway.prefix(count))))
                underway.removeFirst(count)
            case 6: if asking { answer() }
            default: if progress.reported(newest) { asking = true }
            }
        }
        // The next renewal finds whatever was lost at the end.
        if progress.reported(newest) { asking = true }
        while asking { answer() }
        #expect(sent == Array(1...max(1, newest)).filter { $0 <= newest })
    }
}

@Suite("Server-sent events as text")
struct EventTextTests {
    private func text(_ events: StreamEvent...) -> String { String(buffer: EventText.text(events)) }

    @Test func `an event has its id, name and data`() {
        let event = StreamEvent(id: 7, name: "unread_count", data: #"{"unread_count":2}"#)
        #expect(text(event) == "id: 7\nevent: unread_count\ndata: {\"unread_count\":2}\n\n")
        #expect(text(event, event).components(separatedBy: "\n\n").count == 3)
    }

    @Test(arguments: ["a\nid: 9", "a\rid: 9", "a\r\nid: 9"]) func `a line break begins no field of its own`(data: String) {
        #expect(text(StreamEvent(id: 1, name: "x", data: data)) == "id: 1\nevent: x\ndata: a\ndata: id: 9\n\n")
        #expect(text(StreamEvent(id: 1, name: data, data: "")).hasPrefix("id: 1\nevent: aid\n"))
    }

    @Test func `a text separator within JSON is no line break`() {
        #expect(text(StreamEvent(id: 1, name: "x", data: "a\u{2028}b")).contains("data: a\u{2028}b\n"))
    }

    @Test func `streams that end together come back at different times, from one to three seconds later`() {
        let texts = Set((0..<500).map { String(buffer: EventText.retry($0 &* 7_919)) })
        #expect(texts.count > 300 && texts.allSatisfy { $0.hasPrefix("retry: ") && $0.hasSuffix("\n\n") })
        let values = texts.compactMap { Int($0.dropFirst(7).dropLast(2)) }
        #expect(values.allSatisfy { (1_000..<3_000).contains($0) } && values.count == texts.count)
    }
}
