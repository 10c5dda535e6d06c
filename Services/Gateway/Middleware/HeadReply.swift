internal import Hummingbird

extension Response {
    /// The answer to HEAD: status and headers of the answer to GET, `Content-Length` included, and nothing else (RFC 9110 §9.3.2). Content
    /// after them would be taken for the next answer on the connection.
    var withoutContent: Response {
        let hasLength = headers.contains(.contentLength)
        var reply = createHeadResponse()
        // An answer of unknown length is not one of none.
        if !hasLength { reply.headers[.contentLength] = nil }
        return reply
    }
}
