public import Kernel

/// The name of a blob: one to eight segments between slashes, `snaps/2026-01-02/0190…/display.jpg`.
///
/// Each segment has 1…128 of `A-Z a-z 0-9 . _ -` and does not begin with a dot; at most 512 bytes in all. So a key is a valid path
/// in a file system, a URL and S3, and can never lead out of the store.
public struct BlobKey: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The key as text.
    public let description: String

    /// A key from text.
    ///
    /// - Throws: `VALIDATION_ERROR` naming `field` for anything but a key.
    public init(_ text: some StringProtocol, field: String = "key") throws(ServiceError) {
        guard Self.isKey(Substring(text).utf8) else { throw .validation(field: field, "must be the key of a blob") }
        self.description = String(text)
    }

    /// The key of a blob inside this one's folder: `name` is appended as a further segment.
    ///
    /// - Throws: `VALIDATION_ERROR` when that is no key.
    public func appending(_ name: String) throws(ServiceError) -> BlobKey { try BlobKey("\(description)/\(name)") }

    /// Byte order, as in `list`.
    public static func < (left: BlobKey, right: BlobKey) -> Bool {
        left.description.utf8.lexicographicallyPrecedes(right.description.utf8)
    }

    /// Whether the bytes are a key, or (for `list`) the beginning of one. One pass, because every link to a photo is checked.
    static func isKey(_ bytes: Substring.UTF8View, orPrefix: Bool = false) -> Bool {
        if orPrefix && bytes.isEmpty { return true }
        guard bytes.count <= 512 else { return false }
        var segments = 1
        var length = 0
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "/"):
                guard length > 0 else { return false }
                segments += 1
                length = 0
            case UInt8(ascii: ".") where length == 0: return false
            case 48...57, 65...90, 97...122, UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                length += 1
                guard length <= 128 else { return false }
            default: return false
            }
        }
        return length > 0 ? segments <= 8 : orPrefix && segments <= 9
    }

    /// Whether the bytes are one segment of a key.
    static func isSegment(_ bytes: Substring.UTF8View) -> Bool { isKey(bytes) && !bytes.contains(UInt8(ascii: "/")) }
}
