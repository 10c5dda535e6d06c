import Foundation
import Kernel
import Logging
import TestSupport
import Testing

@testable import Videos

/// What is made of uploaded videos (PL-1).
final class VideoProcessorTests: Sendable {
    private let folder: URL
    private let processor: VideoProcessor

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "videos-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        processor = Self.processor(in: folder)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private static func processor(in folder: URL) -> VideoProcessor {
        VideoProcessor(
            folder: folder.path,
            limits: VideoLimits(seconds: 5),
            atOnce: 2,
            queueLimit: 50,
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        )
    }

    private struct Made {
        let video: PreparedVideo
        let bytes: [UInt8]
    }

    private func process(_ bytes: [UInt8]) async throws -> Made {
        let chunks = AsyncStream { continuation in
            for start in stride(from: 0, to: bytes.count, by: 10_000) {
                continuation.yield(Array(bytes[start..<min(start + 10_000, bytes.count)]))
            }
            continuation.finish()
        }
        return try await processor.process(
            chunks,
            check: { size, sha256 in #expect(size == Int64(bytes.count) && sha256.count == 32) },
            use: { video in
                var all: [UInt8] = []
                for try await chunk in try video.chunks() { all += chunk }
                return Made(video: video, bytes: all)
            }
        )
    }

    private func refusal(of bytes: [UInt8]) async -> String? {
        do {
            _ = try await process(bytes)
            return nil
        } catch { return (error as? ServiceError)?.reason ?? "\(error)" }
    }

    @Test(arguments: SampleVideo.Kind.allCases) func `a video is copied without its metadata and data tracks`(
        kind: SampleVideo.Kind
    )
        async throws
    {
        let upload = try await SampleVideo(kind).bytes()
        #expect(upload.firstRange(of: Array(SampleVideo.secret.utf8)) != nil)
        let made = try await process(upload)
        #expect(made.video.format == (kind == .vp9InWebM ? .webm : .mp4) && Int64(made.bytes.count) == made.video.size)
        #expect((1_900...2_200).contains(made.video.milliseconds), "\(made.video.milliseconds)")
        #expect(made.bytes.firstRange(of: Array(SampleVideo.secret.utf8)) == nil)
        let facts = try await SampleVideo.facts(of: made.bytes)
        #expect(facts.contains("codec_name=\(kind.codec)|") && facts.contains("codec_type=audio"), "\(facts)")
        #expect(!facts.contains("codec_type=data") && !facts.contains("timecode") && !facts.contains("creation_time"), "\(facts)")
        if kind.codec == "hevc" { #expect(facts.contains("hvc1"), "\(facts)") }
        // The index comes before the content, so that it plays while it loads.
        let marks = made.video.format == .mp4 ? ("moov", "mdat") : ("\u{1C}S\u{BB}k", "\u{1F}C\u{B6}u")
        let (index, content) = (marks.0.unicodeScalars.map { UInt8($0.value) }, marks.1.unicodeScalars.map { UInt8($0.value) })
        let (first, second) = (made.bytes.firstRange(of: index), made.bytes.firstRange(of: content))
        #expect(try #require(first).lowerBound < (try #require(second)).lowerBound)
        #expect(made.video.poster.starts(with: [0xFF, 0xD8, 0xFF]))
    }

    @Test func `the texts in the headers of Vorbis are erased, and it plays all the same`() async throws {
        let upload = try await SampleVideo.made(
            [
                "-f", "lavfi", "-i", "testsrc=size=64x64:rate=10", "-f", "lavfi", "-i", "sine=frequency=440", "-t", "1",
                "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-c:a", "libvorbis",
            ],
            name: "vorbis.webm"
        )
        let texts = ["encoder=Lavc", "Xiph.Org libVorbis"].map { Array($0.utf8) }
        #expect(texts.allSatisfy { upload.firstRange(of: $0) != nil })
        let made = try await process(upload)
        #expect(texts.allSatisfy { made.bytes.firstRange(of: $0) == nil })
        #expect(try await SampleVideo.facts(of: made.bytes).contains("codec_name=vorbis|"))
        let sound = try await SampleVideo.made(
            ["-xerror", "-i", try stored(made.bytes), "-map", "0:a", "-f", "s16le"],
            name: "sound"
        )
        #expect(sound.count > 80_000 && sound.contains { $0 != 0 })
    }

    @Test func `texts of Vorbis that lie about their lengths change nothing beyond the file`() {
        let head = [3] + Array("vorbis".utf8)
        let (many, one, nine): ([UInt8], [UInt8], [UInt8]) = ([255, 255, 255, 255], [1, 0, 0, 0], [9, 0, 0, 0])
        for (tail, left) in [
            ([], []), ([1], [1]), (many + [65], many + [65]), (nine + [65], nine + [65]),
            (one + [65] + many + one + [66] + nine + [67], one + [32] + many + one + [32] + nine + [67]),
        ] as [([UInt8], [UInt8])] {
            var bytes = [7] + head + tail
            bytes.withUnsafeMutableBytes { VorbisComments.erase($0) }
            #expect(bytes == [7] + head + left)
        }
    }

    @Test func `a turned video stays turned, and its poster is upright`() async throws {
        let made = try await process(try await SampleVideo(.h264InMOV, turnedBy: 90).bytes())
        #expect(try await SampleVideo.facts(of: made.bytes).contains("rotation="))
        #expect(try await SampleVideo.facts(of: made.video.poster).contains("width=120|height=160"))
    }

    @Test func `the poster is the frame at one second, of a shorter clip the last`() async throws {
        // Red, and blue from 0.9 s on; and the same cut off before one second.
        func changing(_ seconds: String) async throws -> [UInt8] {
            try await SampleVideo.made(
                [
                    "-f", "lavfi", "-i", "color=c=red:size=64x64:rate=10:d=0.9", "-f", "lavfi", "-i",
                    "color=c=blue:size=64x64:rate=10:d=0.3",
                    "-f", "lavfi", "-i", "color=c=lime:size=64x64:rate=10:d=2", "-filter_complex", "[0][1][2]concat=n=3:v=1",
                    "-t", seconds,
                    "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p",
                ],
                name: "changing.mp4"
            )
        }
        for seconds in ["3", "1", "0.95"] {
            let poster = try await process(try await changing(seconds)).video.poster
            let pixel = try await SampleVideo.made(
                ["-f", "image2pipe", "-i", try stored(poster), "-vf", "scale=1:1", "-pix_fmt", "rgb24", "-f", "rawvideo"],
                name: "pixel"
            )
            try #require(pixel.count == 3)
            #expect(pixel[2] > 200 && pixel[0] < 60 && pixel[1] < 60, "blue, not \(pixel), of \(seconds) s")
        }
    }

    private func stored(_ bytes: [UInt8]) throws -> String {
        let file = folder.appending(path: "poster-\(UUID().uuidString).jpg")
        try Data(bytes).write(to: file)
        return file.path
    }

    @Test func `a video without sound, and one of a single frame`() async throws {
        let arguments = ["-f", "lavfi", "-i", "testsrc=size=64x64:rate=5", "-c:v", "libx264", "-pix_fmt", "yuv420p"]
        let silent = try await process(try await SampleVideo.made(arguments + ["-t", "1.4"], name: "silent.mp4"))
        #expect(!(try await SampleVideo.facts(of: silent.bytes)).contains("audio"))
        let single = try await process(try await SampleVideo.made(arguments + ["-frames:v", "1"], name: "single.mp4"))
        #expect(single.video.milliseconds > 0 && !single.video.poster.isEmpty)
    }

    @Test func `what is too long, too large or coded otherwise is refused, and nothing is left`() async throws {
        #expect(await refusal(of: try await SampleVideo(seconds: 6).bytes()) == "VIDEO_TOO_LONG")
        #expect(await refusal(of: try await SampleVideo(seconds: 0.2, width: 4_112, height: 64).bytes()) == "VIDEO_TOO_LARGE")
        let other = ["-f", "lavfi", "-i", "testsrc=size=64x64:rate=5", "-t", "1", "-c:v", "mpeg4"]
        #expect(await refusal(of: try await SampleVideo.made(other, name: "o.mp4")) == "UNSUPPORTED_VIDEO_TYPE")
        #expect(await refusal(of: Array("#EXTM3U\n".utf8)) == "UNSUPPORTED_VIDEO_TYPE")
        let whole = try await SampleVideo().bytes()
        #expect(await refusal(of: Array(whole.prefix(whole.count / 2))) == "VIDEO_UNDECODABLE")
        try await eventually("nothing is left") { [folder] in
            try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty
        }
    }

    @Test func `folders of a process that has died are deleted, others are not`() throws {
        let dead = folder.appending(path: "streaksnap-video-dead")
        try FileManager.default.createDirectory(at: dead, withIntermediateDirectories: true)
        try Data("x".utf8).write(to: dead.appending(path: "in"))
        let living = try Workspace(in: folder.path)
        try FileManager.default.createDirectory(at: folder.appending(path: "other"), withIntermediateDirectories: true)
        Workspace.sweep(folder.path)
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(left == ["other", String(living.path.split(separator: "/").last ?? "")])
    }

    @Test func `more than may wait are refused at once`() async throws {
        let small = VideoProcessor(
            folder: folder.path,
            atOnce: 1,
            queueLimit: 0,
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        )
        let (held, release) = AsyncStream.makeStream(of: [UInt8].self)
        let first = Task { try await small.process(held, check: { _, _ in }, use: { _ in }) }
        try await eventually("it is inside") { [folder] in
            try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 1
        }
        let second = AsyncStream<[UInt8]> { $0.finish() }
        let error = await #expect(throws: ServiceError.self) {
            try await small.process(second, check: { _, _ in }, use: { _ in })
        }
        #expect(error?.code == .unavailable)
        release.finish()
        await #expect(throws: ServiceError.self) { try await first.value }
    }
}
