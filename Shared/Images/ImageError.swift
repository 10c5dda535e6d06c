internal import Kernel

/// The errors of this module for callers of the API.
enum ImageError {
    static func unsupportedType(_ bytes: UnsafeRawBufferPointer) -> ServiceError {
        ServiceError(
            .invalidArgument,
            "UNSUPPORTED_IMAGE_TYPE",
            bytes.isEmpty
                ? "The file is empty."
                : "The file is not a JPEG, PNG, WebP or HEIC image" + (kind(of: bytes).map { ", but \($0)." } ?? ".")
        )
    }

    /// What is sent in place of a picture most often; nil for anything else.
    private static func kind(of bytes: UnsafeRawBufferPointer) -> String? {
        let start = bytes.prefix(64)
        func begins(_ text: String, at offset: Int = 0) -> Bool { start.dropFirst(offset).starts(with: text.utf8) }
        if begins("GIF8") { return "a GIF" }
        if begins("BM") { return "a BMP" }
        if begins("II*") || begins("MM") && start.dropFirst(2).first == 0 { return "a TIFF" }
        if begins("%PDF") { return "a PDF" }
        if begins("<svg") || begins("<?xml") { return "an SVG or XML" }
        if begins("ftyp", at: 4) { return "a video or another kind of HEIF" }
        if begins("/9j/") || begins("iVBOR") || begins("data:image") { return "base64 text: send the bytes themselves" }
        if begins("{") || begins("[") { return "text" }
        return nil
    }

    static func tooLarge(_ megapixels: Int) -> ServiceError {
        ServiceError(.invalidArgument, "IMAGE_TOO_LARGE", "The image has more than \(megapixels) megapixels.")
    }

    static let undecodable = ServiceError(.invalidArgument, "IMAGE_UNDECODABLE", "The image is damaged or incomplete.")

    static let busy = ServiceError.unavailable("Too many photos are being processed at the moment. Try again in a moment.")
}
