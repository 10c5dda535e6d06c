private import CBoundedProcess
internal import Glibc
internal import Kernel
internal import Logging

/// Runs ffprobe and ffmpeg on the files of one workspace, each as a bounded process. All calls block.
///
/// The demuxer is given by name and only files may be opened, so that a playlist, a list of files or a page with links is not read as one,
/// whatever the file pretends to be.
struct VideoTools: Sendable {
    /// Seconds of processor time of one process.
    private static let processorSeconds = 30
    /// ffmpeg's libraries alone map some 400 MB.
    private static let memory = 1_536 << 20
    private static let niceness: Int32 = 5

    let workspace: Workspace
    let limits: VideoLimits
    let programs: VideoPrograms
    let logger: Logger
    /// When the whole must be done.
    let deadline: ContinuousClock.Instant

    /// What a file of the workspace is.
    ///
    /// - Parameter demuxer: `mov` or `matroska`.
    /// - Throws: `VIDEO_UNDECODABLE`.
    func probe(_ file: String, as demuxer: String) throws -> VideoProbe {
        let entries = "stream=codec_type,codec_name,width,height,duration:stream_disposition=attached_pic:format=duration"
        try run(
            programs.ffprobe,
            Self.opened(demuxer) + ["-show_entries", entries, "-of", "default=nw=0", "file:\(file)"]
        )
        return VideoProbe(String(decoding: workspace.read("out.txt", limit: 256 << 10), as: UTF8.self))
    }

    /// Copies two tracks into a new file, without anything else that the container has: positions, names, times, data tracks. What turns the
    /// picture upright is a property of its track and stays. The index comes first, so that it plays while it loads.
    ///
    /// - Parameter codec: of the picture.
    func copy(_ file: String, as demuxer: String, tracks: [Int], codec: String, to format: StoredVideoFormat, _ output: String)
        throws
    {
        var arguments = ["-nostdin", "-xerror"] + Self.opened(demuxer) + ["-i", "file:\(file)"]
        for track in tracks { arguments += ["-map", "0:\(track)"] }
        arguments += ["-c", "copy", "-map_metadata", "-1", "-map_chapters", "-1", "-dn", "-sn", "-fflags", "+bitexact"]
        // Camcorders of AVCHD write where they are into messages between the pictures (SEI). Those of HEVC have the colours of HDR.
        if codec == "h264" { arguments += ["-bsf:v", "filter_units=remove_types=6"] }
        switch format {
        case .mp4:
            // Apple's players know HEVC by this name only.
            if codec == "hevc" { arguments += ["-tag:v", "hvc1"] }
            arguments += ["-movflags", "+faststart", "-f", "mp4"]
        case .webm: arguments += ["-cues_to_front", "1", "-f", "webm"]
        }
        try run(programs.ffmpeg, arguments + ["-y", "file:\(output)"])
        if format == .webm { try VorbisComments.erase(from: "\(workspace.path)/\(output)") }
    }

    /// Writes a frame as JPEG, upright, at most 2048 px on its longer side: the one at 1 s, of a shorter clip the last.
    func poster(of file: String, as demuxer: String, to output: String) throws {
        let scaling =
            "scale='min(8192,max(1,iw*if(sar,sar,1)))':ih,setsar=1,"
            + "scale='min(2048,iw)':'min(2048,ih)':force_original_aspect_ratio=decrease"
        func frames(_ seek: [String], _ most: [String]) throws {
            try run(
                programs.ffmpeg,
                ["-nostdin"] + Self.opened(demuxer) + ["-threads", "1"] + seek + ["-i", "file:\(file)", "-map", "0:v:0"] + most
                    + [
                        "-vf", scaling, "-filter_threads", "1", "-threads", "1", "-c:v", "mjpeg", "-q:v", "2", "-f", "image2",
                        "-update", "1",
                        "-y", output,
                    ]
            )
        }
        try frames(["-ss", "1"], ["-frames:v", "1"])
        if !workspace.has(output) { try frames([], []) }
        guard workspace.has(output) else { throw refuse("no frame of it can be decoded") }
    }

    private static func opened(_ demuxer: String) -> [String] {
        [
            "-hide_banner", "-v", "error", "-protocol_whitelist", "file", "-format_whitelist",
            "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm",
            "-max_streams", "64", "-probesize", "16M", "-analyzeduration", "8M", "-f", demuxer,
        ]
    }

    private func run(_ program: String, _ arguments: [String]) throws {
        let left = (deadline - .now) / .milliseconds(1)
        guard left > 0 else { throw VideoError.busy }
        var status: Int32 = 0
        let failure = Self.withCStrings([program] + arguments) { arguments in
            Self.withCStrings(["PATH=/usr/bin:/bin", "LC_ALL=C", "AV_LOG_FORCE_NOCOLOR=1", "HOME=/nonexistent"]) { environment in
                workspace.path.withCString { folder in
                    program.withCString { program in
                        var process = BoundedProcess()
                        (process.program, process.folder) = (program, folder)
                        (process.arguments, process.environment) = (arguments, environment)
                        (process.cpu_seconds, process.milliseconds) = (Self.processorSeconds, Int(left))
                        (process.memory_bytes, process.file_bytes) = (Self.memory, Int(limits.bytes) + 16 << 20)
                        process.niceness = Self.niceness
                        return bounded_process_run(&process, &status)
                    }
                }
            }
        }
        guard failure == 0 else {
            logger.error("a video cannot be processed", metadata: ["cause": "cannot start \(program): errno \(failure)"])
            throw VideoError.missing
        }
        let errors = String(decoding: workspace.read("err.txt", limit: 4_096), as: UTF8.self)
        // For WebM the end of the file is no error.
        if status == 0, !errors.contains("File ended prematurely") { return }
        if status == 126 || status == 127 {
            logger.error(
                "a video cannot be processed",
                metadata: ["cause": "\(program) ended with \(status): \(errors.prefix(300))"]
            )
            throw VideoError.missing
        }
        // The machine is too busy; a file that is slow by itself uses up its processor time.
        if status == Int32(bounded_process_late) { throw VideoError.busy }
        if errors.contains("No space left on device") { throw Workspace.failure }
        throw refuse("\(program) ended with \(status): \(errors.prefix(300))")
    }

    /// The error for a damaged file; the cause is logged.
    func refuse(_ cause: String) -> ServiceError {
        logger.info("video refused", metadata: ["cause": "\(cause)"])
        return VideoError.undecodable
    }

    private static func withCStrings<Result>(
        _ strings: [String],
        _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>?) -> Result
    ) -> Result {
        let pointers = strings.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        return (pointers + [nil]).withUnsafeBufferPointer { body($0.baseAddress) }
    }
}

/// Where ffmpeg lies.
struct VideoPrograms: Sendable {
    let ffmpeg: String
    let ffprobe: String

    /// nil when it is not installed.
    static func find() -> VideoPrograms? {
        ["/usr/bin", "/usr/local/bin", "/opt/ffmpeg/bin"].lazy.map {
            VideoPrograms(ffmpeg: "\($0)/ffmpeg", ffprobe: "\($0)/ffprobe")
        }
        .first { access($0.ffmpeg, X_OK) == 0 && access($0.ffprobe, X_OK) == 0 }
    }
}
