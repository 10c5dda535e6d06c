/// What ffprobe says of a file (`-of default=nw=0`): sections of `name=value`.
struct VideoProbe: Sendable, Equatable {
    /// One track.
    struct Stream: Sendable, Equatable {
        var kind = ""
        var codec = ""
        var width = 0
        var height = 0
        /// Seconds; nil when the container does not say.
        var duration: Double?
        /// A cover, which is a picture and no video.
        var isPicture = false
    }

    var streams: [Stream] = []
    /// Seconds; nil when the container does not say.
    var duration: Double?

    /// The track that is shown.
    var video: Stream? { streams.first { $0.kind == "video" && !$0.isPicture } }
    /// The first track of sound.
    var sound: Stream? { streams.first { $0.kind == "audio" } }

    /// Reads the text. What it does not know counts for nothing.
    init(_ text: String) {
        var sections: [Substring] = []
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("[/") {
                if sections.popLast() == "STREAM" { isOpen = false }
            } else if line.hasPrefix("["), line.hasSuffix("]") {
                sections.append(line.dropFirst().dropLast())
                if sections == ["STREAM"] {
                    streams.append(Stream())
                    isOpen = true
                }
            } else if let equals = line.firstIndex(of: "=") {
                read(line[..<equals], line[line.index(after: equals)...], sections.last)
            }
        }
    }

    private var isOpen = false

    private mutating func read(_ name: Substring, _ value: Substring, _ section: Substring?) {
        if section == "FORMAT", name == "duration" { duration = Self.seconds(value) }
        guard section == "STREAM", isOpen, let last = streams.indices.last else { return }
        switch name {
        case "codec_type": streams[last].kind = String(value)
        case "codec_name": streams[last].codec = String(value.prefix(40))
        case "width": streams[last].width = Int(value) ?? 0
        case "height": streams[last].height = Int(value) ?? 0
        case "duration": streams[last].duration = Self.seconds(value)
        case "DISPOSITION:attached_pic": streams[last].isPicture = value == "1"
        default: break
        }
    }

    private static func seconds(_ value: Substring) -> Double? {
        Double(value).flatMap { $0.isFinite && $0 >= 0 ? $0 : nil }
    }
}

/// What a video may be at most.
public struct VideoLimits: Sendable {
    /// Of one frame: 4K, with what coding adds.
    public static let mostPixels = 4_096 * 2_304
    /// Of one frame, in pixels.
    public static let longestSide = 4_096

    /// Seconds that a video may last.
    public var seconds: Int
    /// Bytes of the file.
    public var bytes: Int64

    /// Limits; 60 s and 100 MB of PL-1 by default.
    public init(seconds: Int = 60, bytes: Int64 = 100 << 20) {
        (self.seconds, self.bytes) = (seconds, bytes)
    }
}
