public import Foundation

/// A reply that is not JSON.
public struct FileReply: Sendable, Hashable {
    /// HTTP status: 202 says that the file is being made, and that the body is a JSON document.
    public let status: Int
    /// Media type.
    public let contentType: String
    /// The file name that the server suggests.
    public let suggestedName: String?
    /// The bytes; empty when they were written to a file.
    public let data: Data
    /// Where they were written.
    public let file: URL?

    init(_ reply: TransportReply) {
        status = reply.status
        contentType = reply.headers["content-type"] ?? "application/octet-stream"
        data = reply.body
        file = reply.file
        let parts = (reply.headers["content-disposition"] ?? "").split(separator: ";").map { $0.drop { $0 == " " } }
        suggestedName = parts.first { $0.hasPrefix("filename=") }.map { $0.dropFirst(9).filter { !"\"/\\".contains($0) } }
    }
}
