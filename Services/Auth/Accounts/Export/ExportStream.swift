internal import Bus
internal import CommonAPI
internal import Kernel

/// A whole document in pieces of a page each, asked for one after the other: memory does not grow with the document.
struct ExportStream: AsyncSequence, Sendable {
    typealias Element = [UInt8]

    let sources: [DataSources.Source]
    let user: UserID
    let now: Instant

    func makeAsyncIterator() -> Iterator { Iterator(stream: self) }

    struct Iterator: AsyncIteratorProtocol {
        let stream: ExportStream
        private var index = 0
        private var member = DocumentMember()
        private var request: ExportPersonalDataRequest?
        private var isAtEnd = false

        init(stream: ExportStream) { self.stream = stream }

        mutating func next() async throws -> [UInt8]? {
            guard !isAtEnd else { return nil }
            guard index < stream.sources.count else {
                isAtEnd = true
                return Array("}".utf8)
            }
            // A sequence that ends when its task is cancelled would look whole.
            try Task.checkCancellation()
            let source = stream.sources[index]
            var text = ""
            if request == nil {
                text = index == 0 ? DataSources.head(stream.user, stream.now) : ","
                text += "\"\(source.name)\":{"
            }
            let asked = request ?? ExportPersonalDataRequest(userID: stream.user)
            let context = CallContext.expiring(in: .seconds(10), principal: Principal(role: .service))
            let page = try await source.page(asked, context)
            text += member.text(of: page.parts)
            request = page.next(of: stream.user)
            if request == nil {
                text += member.end + "}"
                member = DocumentMember()
                index += 1
            }
            return Array(text.utf8)
        }
    }
}
