internal import Kernel

/// The errors of this module for callers of the API.
enum VideoError {
    static let unsupportedType = ServiceError(
        .invalidArgument,
        "UNSUPPORTED_VIDEO_TYPE",
        "The file is not an MP4, MOV or WebM with video in H.264, HEVC or VP9."
    )

    static func unsupportedSound(_ codec: String) -> ServiceError {
        ServiceError(
            .invalidArgument,
            "UNSUPPORTED_VIDEO_TYPE",
            "The video's sound is coded as \(codec), which is not supported."
        )
    }

    static func tooLong(_ seconds: Int) -> ServiceError {
        ServiceError(.invalidArgument, "VIDEO_TOO_LONG", "The video is longer than \(seconds) seconds.")
    }

    static let tooLarge = ServiceError(
        .invalidArgument,
        "VIDEO_TOO_LARGE",
        "The video has more than \(VideoLimits.mostPixels) pixels, or a side of more than \(VideoLimits.longestSide)."
    )

    static let undecodable = ServiceError(.invalidArgument, "VIDEO_UNDECODABLE", "The video is damaged or incomplete.")

    static let busy = ServiceError.unavailable("Too many videos are being processed at the moment. Try again in a moment.")

    static let missing = ServiceError.unavailable("Videos cannot be processed here at the moment.")
}
