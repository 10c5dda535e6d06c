internal import Kernel

/// The errors of this module for callers of the API.
enum ImageError {
    static func unsupportedType(isEmpty: Bool) -> ServiceError {
        ServiceError(
            .invalidArgument,
            "UNSUPPORTED_IMAGE_TYPE",
            isEmpty ? "The file is empty." : "The file is not a JPEG, PNG, WebP or HEIC image."
        )
    }

    static func tooLarge(_ megapixels: Int) -> ServiceError {
        ServiceError(.invalidArgument, "IMAGE_TOO_LARGE", "The image has more than \(megapixels) megapixels.")
    }

    static let undecodable = ServiceError(.invalidArgument, "IMAGE_UNDECODABLE", "The image is damaged or incomplete.")

    static let busy = ServiceError.unavailable("Too many photos are being processed at the moment. Try again in a moment.")
}
