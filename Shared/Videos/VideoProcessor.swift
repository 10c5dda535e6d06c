internal import Glibc
private import Kernel
public import Logging
private import Synchronization
private import WorkPool

/// Checks uploaded videos and makes what is stored of them (PL-1), with ffmpeg in bounded processes (`CBoundedProcess`).
///
/// In order: the container is decided from the bytes; ffprobe says what is in it, and codecs, size and duration are checked; the tracks of
/// picture and sound are copied into a new file, without metadata (location above all) and data tracks and without coding them again; that
/// file is probed and checked too, because a header may lie; a frame of it is decoded for the poster.
public final class VideoProcessor: Sendable {
    /// How long one video may take.
    private static let longest = Duration.seconds(50)
    private static let videoCodecs: [StoredVideoFormat: Set<String>] = [.mp4: ["h264", "hevc", "vp9"], .webm: ["vp9"]]
    private static let soundCodecs: [StoredVideoFormat: Set<String>] = [
        .mp4: ["aac", "mp3", "opus", "ac3", "eac3", "alac"], .webm: ["opus", "vorbis"],
    ]

    private let folder: String
    private let limits: VideoLimits
    private let most: Int
    private let programs: VideoPrograms?
    private let pool: WorkPool
    private let files = WorkPool(name: "video-files", threads: 2, queueLimit: 256, refusal: VideoError.busy)
    private let logger: Logger
    /// How many of each owner are being taken or processed.
    private let inside = Mutex([String?: Int]())

    /// A processor. Files of processes that have died are deleted.
    ///
    /// - Parameters:
    ///   - folder: An existing folder for uploads while they are processed: twice the largest video for each that waits.
    ///   - atOnce: Videos processed at once, at least 1.
    ///   - queueLimit: Videos that may wait; further callers get `UNAVAILABLE`.
    ///   - logger: Logs why a video was refused.
    public init(folder: String, limits: VideoLimits = VideoLimits(), atOnce: Int = 1, queueLimit: Int = 8, logger: Logger) {
        (self.folder, self.limits, self.logger) = (folder, limits, logger)
        most = max(1, atOnce) + max(0, queueLimit)
        programs = VideoPrograms.find()
        pool = WorkPool(name: "videos", threads: atOnce, queueLimit: queueLimit, niceness: 5, refusal: VideoError.busy)
        Workspace.sweep(folder)
    }

    /// Whether ffmpeg is installed.
    public var isUsable: Bool { programs != nil }

    /// Processes an upload.
    ///
    /// - Parameters:
    ///   - chunks: The bytes of the upload.
    ///   - owner: whose it is: at most a third of the places are one owner's (D22). nil: of none.
    ///   - check: Called with their number and SHA-256 before anything is made of them; what it throws is passed on.
    ///   - use: Called with the result, whose file is deleted afterwards.
    /// - Throws: `UNSUPPORTED_VIDEO_TYPE`, `VIDEO_TOO_LONG`, `VIDEO_TOO_LARGE`, `VIDEO_UNDECODABLE`, `FILE_TOO_LARGE`; `UNAVAILABLE` when too
    ///   many videos wait, one takes too long, or ffmpeg is not installed; `STORAGE_FULL`; `CancellationError`.
    public func process<Chunks: AsyncSequence & Sendable, Result>(
        _ chunks: Chunks,
        of owner: String? = nil,
        check: (_ size: Int64, _ sha256: [UInt8]) throws -> Void,
        use: (PreparedVideo) async throws -> Result
    ) async throws -> Result where Chunks.Element == [UInt8] {
        guard let programs else {
            logger.error("a video cannot be processed", metadata: ["cause": "ffmpeg is not installed"])
            throw VideoError.missing
        }
        try enter(owner)
        defer { leave(owner) }
        let workspace = try await files.run { [folder] in try Workspace(in: folder) }
        let source = try await fill(workspace, from: chunks)
        try check(source.size, source.sha256)
        let (limits, logger) = (limits, logger)
        let facts = try await pool.run(for: owner.map { WorkShare(of: $0) }) {
            let tools = VideoTools(
                workspace: workspace,
                limits: limits,
                programs: programs,
                logger: logger,
                deadline: .now.advanced(by: Self.longest)
            )
            return try Self.prepare(tools)
        }
        return try await use(
            PreparedVideo(
                format: facts.format,
                milliseconds: facts.milliseconds,
                size: workspace.size(of: Self.output),
                poster: workspace.read(Self.poster, limit: 16 << 20),
                workspace: workspace,
                path: "\(workspace.path)/\(Self.output)",
                pool: files
            )
        )
    }

    private func enter(_ owner: String?) throws {
        let isIn = inside.withLock { inside in
            let mine = inside[owner, default: 0]
            guard inside.values.reduce(0, +) < most, owner == nil || mine < max(1, most / 3) else { return false }
            inside[owner] = mine + 1
            return true
        }
        if !isIn { throw VideoError.busy }
    }

    private func leave(_ owner: String?) {
        inside.withLock { inside in
            let left = inside[owner, default: 1] - 1
            inside[owner] = left > 0 ? left : nil
        }
    }

    private func fill<Chunks: AsyncSequence & Sendable>(_ workspace: Workspace, from chunks: Chunks) async throws
        -> (size: Int64, sha256: [UInt8]) where Chunks.Element == [UInt8]
    {
        let file = try await files.run { try SourceFile(workspace.source) }
        var size: Int64 = 0
        for try await chunk in chunks {
            size += Int64(chunk.count)
            guard size <= limits.bytes else {
                throw ServiceError(.invalidArgument, "FILE_TOO_LARGE", "The file is larger than \(limits.bytes) bytes.")
            }
            try await files.run { try file.write(chunk) }
        }
        try Task.checkCancellation()
        return file.finish()
    }

    private static let (output, poster) = ("video", "poster.jpg")

    private struct Facts: Sendable {
        let format: StoredVideoFormat
        let milliseconds: Int64
    }

    private static func prepare(_ tools: VideoTools) throws -> Facts {
        guard let container = VideoFormat(sniffing: tools.workspace.read("in", limit: 12)) else {
            throw VideoError.unsupportedType
        }
        let (demuxer, format): (String, StoredVideoFormat) = container == .webM ? ("matroska", .webm) : ("mov", .mp4)
        let given = try tools.probe("in", as: demuxer)
        let (tracks, video) = try checkTracks(given, format, tools.limits)
        try tools.copy("in", as: demuxer, tracks: tracks, codec: video.codec, to: format, output)
        let made = try tools.probe(output, as: demuxer)
        _ = try checkTracks(made, format, tools.limits)
        guard let seconds = made.duration, seconds > 0 else { throw tools.refuse("it has no duration") }
        // A header that promises more than there is: the end is missing.
        let promised = video.duration ?? given.duration ?? seconds
        guard promised - seconds <= max(1, promised / 10) else { throw tools.refuse("\(seconds) s of \(promised) s are there") }
        try tools.poster(of: output, as: demuxer, to: poster)
        return Facts(format: format, milliseconds: Int64((seconds * 1_000).rounded()))
    }

    /// The numbers of the tracks that are kept, and the one of the picture.
    private static func checkTracks(_ probe: VideoProbe, _ format: StoredVideoFormat, _ limits: VideoLimits) throws
        -> (tracks: [Int], video: VideoProbe.Stream)
    {
        guard let place = probe.streams.firstIndex(where: { $0.kind == "video" && !$0.isPicture }) else {
            throw VideoError.unsupportedType
        }
        let video = probe.streams[place]
        guard videoCodecs[format, default: []].contains(video.codec) else { throw VideoError.unsupportedType }
        guard video.width > 0, video.height > 0 else { throw VideoError.undecodable }
        guard max(video.width, video.height) <= VideoLimits.longestSide, video.width * video.height <= VideoLimits.mostPixels
        else {
            throw VideoError.tooLarge
        }
        // Cameras stop a little after the second they are set to.
        let longest = max(probe.duration ?? 0, video.duration ?? 0)
        guard longest <= Double(limits.seconds) + 0.5 else { throw VideoError.tooLong(limits.seconds) }
        let sounds = probe.streams.indices.filter { probe.streams[$0].kind == "audio" }
        guard let first = sounds.first else { return ([place], video) }
        // A phone's spatial sound comes after the ordinary one, or before it.
        guard let sound = sounds.first(where: { soundCodecs[format, default: []].contains(probe.streams[$0].codec) }) else {
            throw VideoError.unsupportedSound(probe.streams[first].codec)
        }
        return ([place, sound], video)
    }
}

/// What is stored of a video.
public struct PreparedVideo: Sendable {
    /// Its container.
    public let format: StoredVideoFormat
    /// How long it lasts.
    public let milliseconds: Int64
    /// Bytes of the file.
    public let size: Int64
    /// A frame as JPEG: the one at 1 s, of a shorter clip the last.
    public let poster: [UInt8]
    /// Keeps the folder.
    let workspace: Workspace
    let path: String
    fileprivate let pool: WorkPool

    /// The bytes of the file, read as they are asked for.
    ///
    /// - Throws: `STORAGE_FULL` when it cannot be opened.
    public func chunks() throws -> VideoChunks {
        guard let file = OpenFile(path) else { throw Workspace.failure }
        return VideoChunks { [pool, workspace] in
            try await pool.run {
                withExtendedLifetime(workspace) { file.next() }
            }
        }
    }
}

/// The bytes of a file, in order.
public struct VideoChunks: AsyncSequence, Sendable {
    public typealias Element = [UInt8]
    let read: @Sendable () async throws -> [UInt8]?

    public func makeAsyncIterator() -> Iterator { Iterator(read: read) }

    /// Returns the chunks in order.
    public struct Iterator: AsyncIteratorProtocol {
        let read: @Sendable () async throws -> [UInt8]?

        public mutating func next() async throws -> [UInt8]? { try await read() }
    }
}
