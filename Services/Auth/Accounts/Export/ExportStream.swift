internal import Bus
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
        /// The source whose member is read; one more than there are when the document is complete.
        private var index = 0
        private var member: DocumentMember?

        init(stream: ExportStream) { self.stream = stream }

        mutating func next() async throws -> [UInt8]? {
            guard index < stream.sources.count else {
                defer { index = stream.sources.count + 1 }
                return index == stream.sources.count ? Array("}".utf8) : nil
            }
            // A sequence that ends when its task is cancelled would look whole.
            try Task.checkCancellation()
            var member = member ?? DocumentMember(stream.sources[index], of: stream.user)
            let start = self.member != nil ? "" : index == 0 ? DataSources.head(stream.user, stream.now) : ","
            let context = CallContext.expiring(in: .seconds(10), principal: Principal(role: .service))
            let text = try await member.next(context) ?? ""
            self.member = member.isComplete ? nil : member
            if member.isComplete { index += 1 }
            return Array((start + text).utf8)
        }
    }
}
