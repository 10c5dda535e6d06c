/// A container of video that may be uploaded (PL-1).
public enum VideoFormat: String, Sendable, CaseIterable {
    case mp4
    case quickTime
    case webM

    /// The media type, `video/mp4`.
    public var mediaType: String {
        switch self {
        case .mp4: "video/mp4"
        case .quickTime: "video/quicktime"
        case .webM: "video/webm"
        }
    }

    /// The container with a media type; nil for any other type.
    public init?(mediaType: String) {
        guard let format = Self.allCases.first(where: { $0.mediaType == mediaType }) else { return nil }
        self = format
    }

    /// The container, from the first bytes of a file, never from its name; nil for any other file. Twelve bytes are enough.
    public init?(sniffing bytes: some Collection<UInt8>) {
        let head = Array(bytes.prefix(12))
        if head.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) {
            self = .webM
            return
        }
        guard head.count == 12 else { return nil }
        switch String(decoding: head[4..<8], as: UTF8.self) {
        case "ftyp":
            let brand = String(decoding: head[8..<12], as: UTF8.self)
            guard !Self.stillBrands.contains(brand) else { return nil }
            self = brand == "qt  " ? .quickTime : .mp4
        // Files of before there was `ftyp`.
        case "moov", "mdat", "wide", "free", "skip": self = .quickTime
        default: return nil
        }
    }

    /// Pictures in the same kind of boxes.
    private static let stillBrands: Set = [
        "heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1", "avif", "avis", "crx ", "jpeg", "jpgs",
    ]
}

/// The container that a video is stored in: MOV becomes MP4, whose boxes are the same.
public enum StoredVideoFormat: String, Sendable, CaseIterable {
    case mp4
    case webm

    /// The media type, `video/mp4`.
    public var mediaType: String { "video/\(rawValue)" }
}
