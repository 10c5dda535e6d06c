import Kernel
import Testing

@testable import GatewayService

/// The life of a connection as a trace of events and actions.
struct ConnectionStateTests {
    private typealias Facts = RequestHeadRules.Facts
    private let wrong = RequestHeadRules.malformed("x")

    /// A connection that an expectation may change.
    private final class Trace {
        private(set) var state = ConnectionState()

        func received(_ facts: Result<Facts, ServiceError>, isHead: Bool = false) -> ConnectionState.Inbound {
            state.received(facts, isHead: isHead)
        }
        func received(bytes: Int) -> ConnectionState.Inbound { state.received(bytes: bytes) }
        func receivedEnd() -> ConnectionState.Inbound { state.receivedEnd() }
        func failed(_ error: ServiceError) -> ConnectionState.Inbound { state.failed(error) }
        func wantsBody() -> Bool { state.wantsBody() }
        func sendsHead(hasLength: Bool = true) -> ConnectionState.Outbound { state.sendsHead(hasLength: hasLength) }
        func sendsEnd() -> ConnectionState.AfterReply { state.sendsEnd() }
        func drain() { state.drain() }
        func end() -> Bool { state.end() }
    }

    private func request(_ state: Trace, _ facts: Facts = Facts()) {
        #expect(state.received(.success(facts)) == .forward)
        #expect(state.receivedEnd() == .forward)
    }

    private func send(closes: Bool = false) -> ConnectionState.Outbound {
        .send(closes: closes, saysKeepAlive: false, isDelimitedByClose: false)
    }

    @Test func `a refusal waits for the replies to the requests before it`() {
        let state = Trace()
        request(state)
        request(state)
        #expect(state.received(.failure(wrong), isHead: true) == .discard)
        #expect(state.received(.success(Facts())) == .discard, "nothing behind it counts")
        #expect(state.sendsHead() == send() && state.sendsEnd() == .goOn)
        #expect(state.sendsHead() == send())
        #expect(state.sendsEnd() == .refuse(wrong, isHead: true))
        #expect(state.state.isClosing && state.sendsHead() == .discard && !state.state.sendsBytes())
        #expect(state.sendsEnd() == .discard)
    }

    @Test func `a client that sends too many requests ahead gets replies to those that are kept, and is refused the others`() {
        let state = Trace()
        for _ in 0..<ConnectionState.mostAhead { request(state) }
        #expect(state.received(.success(Facts())) == .discard && state.receivedEnd() == .discard)
        for _ in 1..<ConnectionState.mostAhead { #expect(state.sendsHead() == send() && state.sendsEnd() == .goOn) }
        #expect(state.sendsHead() == send())
        let end = state.sendsEnd()
        guard case .refuse(let error, isHead: false) = end else {
            Issue.record("it was not refused")
            return
        }
        #expect(error.reason == "RATE_LIMITED")
        #expect(state.received(.success(Facts())) == .discard && state.state.isClosing)
    }

    @Test func `who waits for replies may send as many requests as they like`() {
        let state = Trace()
        for _ in 0..<3 * ConnectionState.mostAhead {
            request(state)
            request(state)
            for _ in 0..<2 { #expect(state.sendsHead() == send() && state.sendsEnd() == .goOn) }
        }
    }

    @Test func `a parser that fails between requests is answered at once, and once`() {
        let state = Trace()
        request(state)
        #expect(state.sendsHead() == send() && state.sendsEnd() == .goOn)
        #expect(state.failed(wrong) == .refuse(wrong, isHead: false))
        #expect(state.failed(wrong) == .discard)
    }

    @Test func `a parser that fails within a body leaves the reply to who reads the body`() {
        let state = Trace()
        #expect(state.received(.success(Facts(framing: .chunked))) == .forward)
        #expect(state.received(bytes: 10) == .forward)
        #expect(state.failed(wrong) == .forward)
        #expect(state.received(bytes: 10) == .discard)
        #expect(state.sendsHead() == send(closes: true) && state.sendsEnd() == .close)
    }

    @Test func `a parser that fails within a body that is read no longer ends the connection`() {
        let state = Trace()
        #expect(state.received(.success(Facts(framing: .length(100)))) == .forward)
        #expect(state.sendsHead() == send() && state.sendsEnd() == .goOn)
        #expect(state.failed(wrong) == .close)
        let other = Trace()
        #expect(other.received(.success(Facts(framing: .length(100)))) == .forward)
        #expect(other.sendsHead() == send())
        #expect(other.failed(wrong) == .forward)
        #expect(other.sendsEnd() == .close, "the reply is sent to its end")
    }

    @Test(arguments: [
        (ConnectionState.mostDrained, 0, false), (ConnectionState.mostDrained + 1, 0, true), (1_000_000, 999_999, false),
    ]) func `a reply before the end of its request closes unless little is missing`(length: Int, arrived: Int, closes: Bool) {
        let state = Trace()
        #expect(state.received(.success(Facts(framing: .length(length)))) == .forward)
        if arrived > 0 { #expect(state.received(bytes: arrived) == .forward) }
        #expect(state.sendsHead() == send(closes: closes))
        #expect(state.sendsEnd() == (closes ? .close : .goOn))
        guard !closes else { return #expect(state.received(bytes: 1) == .discard) }
        #expect(state.received(bytes: length - arrived) == .forward && state.receivedEnd() == .forward)
        request(state)
        #expect(state.sendsHead() == send() && state.sendsEnd() == .goOn)
    }

    @Test func `100 Continue is sent once, when the body is wanted, and not when it comes unasked`() {
        let state = Trace()
        let facts = Facts(awaitsContinue: true, framing: .length(10))
        #expect(!state.wantsBody())
        #expect(state.received(.success(facts)) == .forward)
        #expect(state.wantsBody() && !state.wantsBody())
        #expect(state.sendsHead() == send(), "the body is on its way, and small")
        let unasked = Trace()
        #expect(unasked.received(.success(facts)) == .forward)
        #expect(unasked.received(bytes: 1) == .forward && !unasked.wantsBody())
        let refused = Trace()
        #expect(refused.received(.success(facts)) == .forward)
        #expect(refused.sendsHead() == send(closes: true), "it is unknown whether the body will come")
        #expect(!refused.wantsBody())
    }

    @Test func `HTTP/1.0 knows no chunks: a reply of unknown length ends with the connection`() {
        let state = Trace()
        request(state, Facts(isHTTP10: true, keepsAlive: true))
        #expect(state.sendsHead(hasLength: false) == .send(closes: true, saysKeepAlive: false, isDelimitedByClose: true))
        let known = Trace()
        request(known, Facts(isHTTP10: true, keepsAlive: true))
        #expect(known.sendsHead() == .send(closes: false, saysKeepAlive: true, isDelimitedByClose: false))
    }

    @Test func `when the server stops, the next reply closes the connection`() {
        let idle = Trace()
        idle.drain()
        request(idle)
        #expect(idle.sendsHead() == send(closes: true) && idle.sendsEnd() == .close)
        #expect(idle.received(.success(Facts())) == .discard)
        let busy = Trace()
        request(busy)
        busy.drain()
        #expect(busy.sendsHead() == send(closes: true) && busy.sendsEnd() == .close)
    }

    @Test func `what was pipelined before the server stopped is answered, and only the last reply closes`() {
        let state = Trace()
        for _ in 0..<3 { request(state) }
        state.drain()
        for _ in 0..<2 { #expect(state.sendsHead() == send() && state.sendsEnd() == .goOn) }
        #expect(state.sendsHead() == send(closes: true) && state.sendsEnd() == .close)
    }

    @Test func `a reply that had begun before the server stopped leaves the connection for one more`() {
        let state = Trace()
        request(state)
        #expect(state.sendsHead() == send())
        state.drain()
        #expect(state.sendsEnd() == .goOn)
        request(state)
        #expect(state.sendsHead() == send(closes: true) && state.sendsEnd() == .close)
    }

    @Test func `at the end a connection without a request is closed at once, and another after its reply`() {
        let idle = Trace()
        #expect(idle.end() && idle.state.isClosing)
        #expect(!idle.end(), "once")
        let busy = Trace()
        request(busy)
        #expect(busy.sendsHead() == send())
        busy.drain()
        #expect(!busy.end())
        #expect(busy.sendsEnd() == .close)
        let uploading = Trace()
        #expect(uploading.received(.success(Facts(framing: .chunked))) == .forward)
        uploading.drain()
        #expect(!uploading.end())
        #expect(uploading.received(bytes: 5) == .forward && uploading.receivedEnd() == .forward)
        #expect(uploading.sendsHead() == send(closes: true) && uploading.sendsEnd() == .close)
    }
}
