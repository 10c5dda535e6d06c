internal import Kernel

/// One page of ListObjectsV2.
struct S3Page: Equatable {
    struct Entry: Equatable {
        var key: String
        var size: Int64
        var modified: Instant
    }

    private(set) var entries: [Entry] = []
    /// The token of the next page; nil when there is none.
    private(set) var continuation: String?

    /// - Throws: `XMLReader.Malformed` for anything but such a page.
    init(_ body: [UInt8]) throws {
        var (key, size, modified) = (String?.none, Int64?.none, Instant?.none)
        var (isWhole, isTruncated) = (false, false)
        try XMLReader.read(body) { path, text in
            switch path {
            case "ListBucketResult/Contents/Key": key = try text.map(Self.decoded)
            case "ListBucketResult/Contents/Size": size = text.flatMap { Int64($0) }
            case "ListBucketResult/Contents/LastModified": modified = text.flatMap { Instant(rfc3339: $0) }
            case "ListBucketResult/Contents":
                guard let key, let size, size >= 0, let modified else { throw XMLReader.Malformed() }
                entries.append(Entry(key: key, size: size, modified: modified))
            case "ListBucketResult/IsTruncated": isTruncated = text == "true"
            case "ListBucketResult/NextContinuationToken": continuation = text
            case "ListBucketResult": isWhole = true
            default: break
            }
        }
        guard isWhole, !isTruncated || continuation?.isEmpty == false else { throw XMLReader.Malformed() }
        if !isTruncated { continuation = nil }
    }

    /// Keys are percent-encoded (`encoding-type=url`): one of another program may have characters that XML cannot hold.
    private static func decoded(_ text: String) throws -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                    throw XMLReader.Malformed()
                }
                bytes.append(value)
                rest = rest.dropFirst(2)
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// An error reply of S3.
struct S3Complaint: Equatable {
    /// `NoSuchKey`, `SignatureDoesNotMatch`; empty when the body has none.
    private(set) var code = ""
    /// Its message, shortened for the log. The rest of the reply is dropped, because it repeats parts of the request.
    private(set) var message = ""

    init(_ body: [UInt8]) {
        // An incomplete error reply is ignored; its status is enough.
        try? XMLReader.read(body) { path, text in
            switch path {
            case "Error/Code": code = String((text ?? "").prefix(80))
            case "Error/Message": message = String((text ?? "").prefix(200))
            default: break
            }
        }
    }
}

/// Dates of HTTP headers (RFC 9110 §5.6.7).
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// From `Sun, 06 Nov 1994 08:49:37 GMT`; nil for anything else.
    static func instant(_ text: String?) -> Instant? {
        let words = (text ?? "").split(separator: " ")
        guard words.count == 6, words[5] == "GMT", let month = months.firstIndex(of: String(words[2])), words[1].count == 2 else {
            return nil
        }
        let number = month < 9 ? "0\(month + 1)" : "\(month + 1)"
        return Instant(rfc3339: "\(words[3])-\(number)-\(words[1])T\(words[4])Z")
    }
}

/// `Content-Range: bytes 0-9/100`.
struct ContentRange: Equatable {
    let range: Range<Int64>
    let total: Int64

    init?(_ text: String?) {
        guard let text, text.hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst(6).split(separator: "/")
        let bounds = parts.first?.split(separator: "-", omittingEmptySubsequences: false) ?? []
        guard parts.count == 2, bounds.count == 2, let first = Int64(bounds[0]), let last = Int64(bounds[1]),
            let total = Int64(parts[1]), first >= 0, first <= last, last < total
        else { return nil }
        (self.range, self.total) = (first..<last + 1, total)
    }
}
