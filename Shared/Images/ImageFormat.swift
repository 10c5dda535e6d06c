/// A format of photo that may be uploaded (PH-1).
public enum ImageFormat: String, Sendable, CaseIterable {
    case jpeg
    case png
    case webp
    case heic

    /// The media type, `image/jpeg`.
    public var mediaType: String { "image/\(rawValue)" }

    /// The format, from the first bytes of a file, never from its name; nil for any other format. Twelve bytes are enough.
    public init?(sniffing bytes: some Collection<UInt8>) {
        let head = Array(bytes.prefix(12))
        if head.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if head.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if head.count == 12, head[0..<4].elementsEqual("RIFF".utf8), head[8..<12].elementsEqual("WEBP".utf8) {
            self = .webp
        } else if head.count == 12, head[4..<8].elementsEqual("ftyp".utf8),
            Self.heifBrands.contains(where: { head[8..<12].elementsEqual($0.utf8) })
        {
            self = .heic
        } else {
            return nil
        }
    }

    /// Major brands of still images coded with HEVC, and the general one that phones write (ISO/IEC 23008-12).
    private static let heifBrands = ["heic", "heix", "heim", "heis", "mif1"]
}
