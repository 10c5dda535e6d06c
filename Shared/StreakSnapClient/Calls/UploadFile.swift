public import Foundation

/// A file to upload.
public struct UploadFile: Sendable, Hashable {
    enum Source: Sendable, Hashable {
        case file(URL)
        case data(Data)
    }

    let source: Source
    /// The file's name: a hint for the server.
    public let name: String
    /// Media type: a hint; the server decides from the bytes.
    public let contentType: String

    /// A file of the device. It is read chunk by chunk, never as a whole.
    public static func file(_ url: URL, contentType: String = "application/octet-stream") -> UploadFile {
        UploadFile(source: .file(url), name: url.lastPathComponent, contentType: contentType)
    }

    /// Bytes in memory.
    public static func data(_ data: Data, name: String = "file", contentType: String = "application/octet-stream") -> UploadFile {
        UploadFile(source: .data(data), name: name, contentType: contentType)
    }
}

/// How far an upload is.
public struct UploadProgress: Sendable, Hashable {
    /// Called in order, on a thread of the client's. An attempt that is made again begins at 0.
    public typealias Handler = @Sendable (UploadProgress) -> Void

    /// Bytes that were sent, the form around the file included.
    public let sent: Int64
    /// Bytes in all.
    public let total: Int64
    /// From 0 to 1.
    public var fraction: Double { total > 0 ? min(1, Double(sent) / Double(total)) : 0 }

    /// Progress, for a ``Transport`` of one's own.
    public init(sent: Int64, total: Int64) { (self.sent, self.total) = (sent, total) }
}
