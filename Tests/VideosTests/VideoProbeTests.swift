import Testing

@testable import Videos

/// What is read of ffprobe's answer.
struct VideoProbeTests {
    @Test func `tracks, sizes and durations are read, and a cover is no video`() throws {
        let text = """
            [STREAM]
            codec_name=mjpeg
            codec_type=video
            width=600
            height=600
            duration=3.0
            DISPOSITION:attached_pic=1
            [/STREAM]
            [STREAM]
            codec_name=hevc
            codec_type=video
            width=1920
            height=1080
            duration=2.5
            DISPOSITION:attached_pic=0
            [SIDE_DATA]
            width=7
            [/SIDE_DATA]
            [/STREAM]
            [STREAM]
            codec_name=aac
            codec_type=audio
            duration=N/A
            [/STREAM]
            [FORMAT]
            duration=2.6
            [/FORMAT]
            """
        let probe = VideoProbe(text)
        #expect(probe.streams.count == 3 && probe.duration == 2.6)
        let video = try #require(probe.video)
        #expect(video == .init(kind: "video", codec: "hevc", width: 1_920, height: 1_080, duration: 2.5, isPicture: false))
        #expect(probe.sound?.codec == "aac" && probe.sound?.duration == nil)
    }

    @Test(arguments: [
        "", "width=5", "[STREAM]", "[/STREAM]\nwidth=5", "[STREAM]\nwidth=-\nduration=nan\n[/STREAM]", "[FORMAT]\nduration=-1",
    ])
    func `nonsense gives no video`(text: String) {
        let probe = VideoProbe(text)
        #expect(probe.video == nil && probe.duration == nil)
    }

    @Test func `containers are recognized by their first bytes`() {
        #expect(VideoFormat(sniffing: Array("\0\0\0\u{18}ftypisom".utf8)) == .mp4)
        #expect(VideoFormat(sniffing: Array("\0\0\0\u{18}ftypqt  ".utf8)) == .quickTime)
        #expect(VideoFormat(sniffing: Array("\0\0\0\u{18}moovabcd".utf8)) == .quickTime)
        #expect(VideoFormat(sniffing: [0x1A, 0x45, 0xDF, 0xA3]) == .webM)
        for text in ["", "\0\0\0\u{18}ftyp", "\0\0\0\u{18}ftypheic", "\0\0\0\u{18}ftypavif", "#EXTM3U\n#EXT", "RIFF    WEBPVP8 "]
        {
            #expect(VideoFormat(sniffing: Array(text.utf8)) == nil, "\(text)")
        }
    }
}
