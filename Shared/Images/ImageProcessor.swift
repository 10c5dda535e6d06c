internal import CVips
private import FoundationEssentials
private import Kernel
public import Logging
public import WorkPool

/// The renditions of an uploaded photo (PH-2): two JPEGs in sRGB, upright, without any metadata.
public struct Renditions: Sendable, Equatable {
    /// For display: at most 2048 px on its longer side, never larger than the upload.
    public var display: [UInt8]
    /// 300 × 300 px, cropped from the centre.
    public var thumbnail: [UInt8]
    /// Width of `display` in pixels.
    public var width: Int
    /// Height of `display` in pixels.
    public var height: Int
    /// The format of the upload.
    public var sourceFormat: ImageFormat

    /// The media type of both renditions.
    public static let mediaType = "image/jpeg"
}

/// The renditions of an avatar (AU-10): square JPEGs in sRGB, upright, without any metadata.
public struct AvatarRenditions: Sendable, Equatable {
    /// 512 × 512 px, cropped around what draws attention.
    public var large: [UInt8]
    /// The same, 128 × 128 px.
    public var small: [UInt8]
}

/// Makes renditions of uploads with libvips, on threads of its own.
///
/// In order: the format is decided from the bytes; the header's dimensions are checked before anything is decoded; the whole
/// image is decoded, so that a truncated file is refused; orientation is applied and colours converted to sRGB; the renditions
/// are encoded without metadata (GPS above all). Source of the rules: PH-1, PH-2.
public final class ImageProcessor: Sendable {
    /// The most pixels an upload may have: 56 megapixels. What phones call 50 is 50.14 or 50.33.
    public static let mostPixels = 56_000_000
    /// The longer side of the display rendition, in pixels.
    public static let displaySide = 2048
    /// The side of the square thumbnail, in pixels.
    public static let thumbnailSide = 300
    /// The sides of an avatar, in pixels.
    public static let avatarSides = (large: 512, small: 128)
    static let quality: Int32 = 82
    /// The most bytes that a PNG may unpack to. An interlaced one counts twice: it is unpacked as a whole, and gone through seven times.
    static let mostUnpacked = 250_000_000

    private let pool: WorkPool
    private let logger: Logger

    /// A processor; the image library is loaded with the first image.
    ///
    /// - Parameters:
    ///   - threads: Images decoded at once. Each may use up to 800 MB: a HEIC of 10 bits with the most pixels; one of 8 bits uses 330.
    ///   - queueLimit: Images that may wait; further callers get `UNAVAILABLE`.
    ///   - logger: Logs why an image was refused.
    public init(threads: Int = 2, queueLimit: Int = 16, logger: Logger) {
        self.pool = WorkPool(name: "images", threads: threads, queueLimit: queueLimit, niceness: 5, refusal: ImageError.busy)
        self.logger = logger
    }

    /// The renditions of an upload in memory.
    ///
    /// - Parameter share: whose it is, and how long it can wait: one person's uploads do not hold up those of others (D22).
    /// - Throws: `UNSUPPORTED_IMAGE_TYPE`, `IMAGE_TOO_LARGE`, `IMAGE_UNDECODABLE`; `UNAVAILABLE` when too many images wait;
    ///   `CancellationError`; `INTERNAL` when libvips is not installed.
    public func renditions(of bytes: [UInt8], for share: WorkShare? = nil) async throws -> Renditions {
        try await pool.run(for: share) { [logger] in
            try bytes.withUnsafeBytes { try Self.decoded($0, logger: logger, Self.renditions) }
        }
    }

    /// The renditions of an avatar.
    ///
    /// - Throws: As for `renditions`.
    public func avatar(of bytes: [UInt8], for share: WorkShare? = nil) async throws -> AvatarRenditions {
        try await pool.run(for: share) { [logger] in
            try bytes.withUnsafeBytes { try Self.decoded($0, logger: logger, Self.avatarRenditions) }
        }
    }

    /// The renditions of an upload in a file. The file is mapped, not read into memory, and must not change meanwhile.
    ///
    /// - Throws: As for bytes, and Foundation's error when the file cannot be read.
    public func renditions(ofFile path: String) async throws -> Renditions {
        try await pool.run { [logger] in
            let data = try Data(contentsOf: URL(filePath: path), options: .alwaysMapped)
            return try data.withUnsafeBytes { try Self.decoded($0, logger: logger, Self.renditions) }
        }
    }

    /// Decodes an image to at most the size of a display rendition and passes it on.
    private static func decoded<Result>(
        _ bytes: UnsafeRawBufferPointer,
        logger: Logger,
        _ make: (VipsImage, ImageFormat) throws -> Result
    ) throws -> Result {
        guard let format = ImageFormat(sniffing: bytes) else { throw ImageError.unsupportedType(bytes) }
        do {
            try Vips.start()
        } catch {
            logger.error("libvips cannot be used", metadata: ["cause": "\(error)"])
            throw ServiceError.internal
        }
        defer { cvips_trim() }
        do {
            guard let rest = try readable(bytes, format) else { return try make(try display(bytes, format), format) }
            return try rest.withUnsafeBytes { try make(try display($0, format), format) }
        } catch let failure as VipsFailure {
            logger.info("image refused", metadata: ["format": "\(format)", "cause": "\(failure)"])
            throw ImageError.undecodable
        }
    }

    /// The file as the decoder is given it; nil when as it is.
    private static func readable(_ bytes: UnsafeRawBufferPointer, _ format: ImageFormat) throws -> [UInt8]? {
        switch format {
        case .png: return PNGChunks.rearranged(bytes)
        case .heic:
            guard let photo = HEIFItems.photo(in: bytes) else { throw VipsFailure("its boxes are damaged or have no photo") }
            return photo
        case .jpeg, .webp: return nil
        }
    }

    /// The picture, at most the size of a display rendition. Its size and what decoding costs are checked before.
    private static func display(_ bytes: UnsafeRawBufferPointer, _ format: ImageFormat) throws -> VipsImage {
        guard isReadable(bytes, format) else { throw VipsFailure("reading it would cost too much") }
        var width: Int32 = 0
        var height: Int32 = 0
        guard cvips_size(bytes.baseAddress, bytes.count, format.loader, &width, &height) == 0 else { throw VipsFailure() }
        var most = mostPixels
        if format == .png { most = min(most, mostUnpacked / PNGChunks.unpackedBytesPerPixel(bytes)) }
        guard Int(width) * Int(height) <= most else { throw ImageError.tooLarge(most / 1_000_000) }
        guard format != .heic || HEIFItems.areWithinLimits(bytes) else {
            throw VipsFailure("decoding it would cost too much")
        }
        return try VipsImage(cvips_decode(bytes.baseAddress, bytes.count, format.loader, Int32(displaySide)))
    }

    /// Whether even its header may be read: that goes through all segments or frames.
    private static func isReadable(_ bytes: UnsafeRawBufferPointer, _ format: ImageFormat) -> Bool {
        switch format {
        case .jpeg: JPEGScans.areFew(bytes)
        case .webp: WebPFrames.areFew(bytes)
        case .png, .heic: true
        }
    }

    private static func renditions(_ display: VipsImage, _ format: ImageFormat) throws -> Renditions {
        let thumbnail = try display.square(thumbnailSide)
        return Renditions(
            display: try jpeg(display),
            thumbnail: try jpeg(thumbnail),
            width: display.width,
            height: display.height,
            sourceFormat: format
        )
    }

    private static func avatarRenditions(_ image: VipsImage, _: ImageFormat) throws -> AvatarRenditions {
        let large = try image.square(avatarSides.large, findsInterest: true)
        let small = try large.square(avatarSides.small)
        return AvatarRenditions(large: try jpeg(large), small: try jpeg(small))
    }

    private static func jpeg(_ image: VipsImage) throws(VipsFailure) -> [UInt8] {
        try Vips.bytes { bytes, count in image.with { cvips_save_jpeg($0, quality, 0, bytes, count) } }
    }
}

extension ImageFormat {
    /// Its loader in libvips.
    var loader: CVipsFormat {
        switch self {
        case .jpeg: CVIPS_JPEG
        case .png: CVIPS_PNG
        case .webp: CVIPS_WEBP
        case .heic: CVIPS_HEIF
        }
    }
}
