internal import HTTPServer
internal import Kernel
internal import NIOCore
internal import NIOHTTP1

/// Reads the parts of a request's body one after the other, in constant memory.
///
/// Used by one task at a time: the reader and the part's body that it hands out take turns, never run side by side.
final class MultipartReader: @unchecked Sendable {
    private var chunks: HTTPBody.AsyncIterator
    private var parser: MultipartParser
    private var events: ArraySlice<MultipartParser.Event> = []
    private let deadline: ContinuousClock.Instant
    /// The first bytes of the part that was read last.
    private(set) var start: [UInt8] = []
    private static let startLength = 64

    init(_ body: HTTPBody, _ parser: MultipartParser, within limit: Duration) {
        self.chunks = body.makeAsyncIterator()
        self.parser = parser
        self.deadline = .now.advanced(by: limit)
    }

    /// The next event; nil after the closing boundary.
    ///
    /// - Throws: `MALFORMED_UPLOAD`, `REQUEST_TIMEOUT`.
    func next() async throws -> MultipartParser.Event? {
        while true {
            if let event = events.popFirst() { return event }
            if parser.isComplete { return nil }
            guard let chunk = try await nextChunk() else { throw Self.malformed("the body ends before its closing boundary") }
            guard ContinuousClock.now < deadline else {
                throw ServiceError(.deadlineExceeded, "REQUEST_TIMEOUT", "The upload took too long to arrive.")
            }
            do { events = try parser.consume(chunk.readableBytesView)[...] } catch { throw Self.malformed(error.problem) }
        }
    }

    private func nextChunk() async throws -> ByteBuffer? {
        do { return try await chunks.next() } catch let error as HTTPParserError { throw RequestHeadRules.refusal(error) }
    }

    /// The bytes of the part that has begun, as they arrive.
    var part: PartBody {
        start = []
        return PartBody(reader: self)
    }

    fileprivate func note(_ slice: ArraySlice<UInt8>) {
        if start.count < Self.startLength { start += slice.prefix(Self.startLength - start.count) }
    }

    /// Reads a small part whole.
    ///
    /// - Returns: nil when it has more than `limit` bytes; the part goes on then.
    func collect(limit: Int) async throws -> [UInt8]? {
        var bytes: [UInt8] = []
        for try await slice in PartBody(reader: self) {
            guard bytes.count + slice.count <= limit else { return nil }
            bytes += slice
        }
        return bytes
    }

    /// Steps over a part, or the rest of one.
    ///
    /// - Returns: its bytes; nil when there are more than `limit`, and the part goes on then.
    func skip(limit: Int) async throws -> Int? {
        var count = 0
        for try await slice in PartBody(reader: self) {
            count += slice.count
            guard count <= limit else { return nil }
        }
        return count
    }

    static func malformed(_ problem: String) -> ServiceError {
        ServiceError(.invalidArgument, "MALFORMED_UPLOAD", "The multipart body cannot be read: \(problem).")
    }
}

/// The bytes of one part; can be read once.
struct PartBody: AsyncSequence, Sendable {
    typealias Element = ArraySlice<UInt8>
    let reader: MultipartReader

    struct Iterator: AsyncIteratorProtocol {
        let reader: MultipartReader
        var isAtEnd = false

        mutating func next() async throws -> ArraySlice<UInt8>? {
            guard !isAtEnd, case .data(let slice)? = try await reader.next() else {
                isAtEnd = true
                return nil
            }
            reader.note(slice)
            return slice
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(reader: reader) }
}
