import Foundation
import Processes

/// ffmpeg or a script did not do what it should.
struct SampleFailure: Error, CustomStringConvertible {
    let description: String
}

/// A video of a test picture with a tone, made by ffmpeg.
package struct SampleVideo: Sendable {
    /// How it is coded, and in which container.
    package enum Kind: String, Sendable, CaseIterable {
        case h264InMP4, hevcInMP4, h264InMOV, vp9InWebM, vp9InMP4

        package var container: String {
            switch self {
            case .h264InMP4, .hevcInMP4, .vp9InMP4: "mp4"
            case .h264InMOV: "mov"
            case .vp9InWebM: "webm"
            }
        }

        package var codec: String {
            switch self {
            case .h264InMP4, .h264InMOV: "h264"
            case .hevcInMP4: "hevc"
            case .vp9InWebM, .vp9InMP4: "vp9"
            }
        }

        var coding: [String] {
            switch codec {
            // With a message (SEI) between the pictures, as camcorders write them.
            case "h264":
                [
                    "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac", "-bsf:v",
                    "h264_metadata=sei_user_data=17ee8c60f84d11d98cd60800200c9a66+\(SampleVideo.secret)",
                ]
            case "hevc": ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:pools=1", "-c:a", "aac"]
            default: ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-c:a", "libopus"]
            }
        }
    }

    /// A word of its metadata, which must be gone from what is stored.
    package static let secret = "+52.5163+013.3777/"

    package var kind: Kind
    package var seconds: Double
    package var width: Int
    package var height: Int
    /// Degrees that a player turns it by.
    package var turnedBy: Int
    /// One colour instead of the test picture, as ffmpeg names it.
    package var color: String?

    package init(
        _ kind: Kind = .h264InMP4,
        seconds: Double = 2,
        width: Int = 160,
        height: Int = 120,
        turnedBy: Int = 0,
        color: String? = nil
    ) {
        (self.kind, self.seconds, self.width, self.height) = (kind, seconds, width, height)
        (self.turnedBy, self.color) = (turnedBy, color)
    }

    /// The bytes of the file, with a position, a title and (in MP4 and MOV) a data track with the time.
    package func bytes() async throws -> [UInt8] {
        let picture = color.map { "color=c=\($0):size=\(width)x\(height):rate=10" } ?? "testsrc=size=\(width)x\(height):rate=10"
        let isMP4 = kind.container != "webm"
        let upright = try await Self.made(
            [
                "-f", "lavfi", "-i", picture, "-f", "lavfi", "-i", "sine=frequency=440", "-t", "\(seconds)", "-pix_fmt",
                "yuv420p",
                "-metadata", "location=\(Self.secret)", "-metadata", "title=\(Self.secret)",
            ] + kind.coding + (isMP4 ? ["-timecode", "01:02:03:04"] : []),
            name: "video.\(kind.container)"
        )
        guard turnedBy != 0 else { return upright }
        let file = FileManager.default.temporaryDirectory.appending(path: "upright-\(UUID().uuidString).\(kind.container)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(upright).write(to: file)
        return try await Self.made(
            ["-i", file.path, "-c", "copy", "-metadata:s:v", "rotate=\(turnedBy)"],
            name: "video.\(kind.container)"
        )
    }

    /// What ffmpeg makes with these arguments.
    package static func made(_ arguments: [String], name: String) async throws -> [UInt8] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sample-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: name)
        let result = try await run("ffmpeg", ["-nostdin", "-v", "error"] + arguments + ["-y", file.path])
        guard result.status == 0 else { throw SampleFailure(description: "ffmpeg: \(result.transcript.prefix(500))") }
        return Array(try Data(contentsOf: file))
    }

    /// What ffprobe says of tracks and tags, one line each.
    package static func facts(of bytes: [UInt8]) async throws -> String {
        let file = FileManager.default.temporaryDirectory.appending(path: "probed-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(bytes).write(to: file)
        let entries =
            "stream=codec_name,codec_type,codec_tag_string,width,height:stream_side_data=rotation:format=format_name,duration"
        let result = try await run(
            "ffprobe",
            ["-v", "error", "-show_entries", "\(entries):format_tags:stream_tags", "-of", "compact", file.path]
        )
        guard result.status == 0 else { throw SampleFailure(description: "ffprobe: \(result.transcript.prefix(500))") }
        return result.text
    }
}

/// Some 200 broken, bombing and lying pictures and videos (`Tests/Support/Media/hostile.py`).
package struct HostileFile: Sendable {
    package let name: String
    /// How it is posted.
    package let isVideo: Bool
    /// The only right refusal; nil when there are several.
    package let reason: String?
    package let bytes: [UInt8]

    /// All of them, in the order of their names.
    package static func all() async throws -> [HostileFile] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "hostile-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let result = try await run("python3", ["Tests/Support/Media/hostile.py", folder.path])
        guard result.status == 0 else { throw SampleFailure(description: "hostile.py: \(result.transcript.suffix(1_000))") }
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map { name in
            HostileFile(
                name: name,
                isVideo: name.dropFirst(4).hasPrefix("video-"),
                reason: name.split(separator: "@").dropFirst().last.map(String.init),
                bytes: Array(try Data(contentsOf: folder.appending(path: name)))
            )
        }
    }
}
