import Foundation
import Processes
import TestSupport
import Testing

/// Videos as large as they may be (PL-1), at several connections: they pass the gateway in constant memory, nothing of them goes over the bus, and
/// a browser plays what is stored, part by part.
@Suite(.timeLimit(.minutes(30))) struct LargeVideoTests {
    private static let connections = TestDepth.pick(quick: 3, full: 8)
    /// The limit is 100 MiB.
    private static let size = TestDepth.pick(quick: 21_000_000, full: 104_000_000)
    /// What the gateway may need for buffers, in bytes: far less than what is sent at once.
    private static let buffers = 24_000_000

    /// What curl was answered.
    private struct Answer: Sendable {
        let status: Int
        let body: JSON
        let text: String
    }

    private func curl(_ arguments: [String]) async throws -> Answer {
        let reply = try await run("curl", ["-sS", "-w", "\n%{http_code}"] + arguments, within: .seconds(300))
        try #require(reply.status == 0, "\(reply.transcript.suffix(2_000))")
        let end = try #require(reply.output.lastIndex(of: UInt8(ascii: "\n")))
        let body = reply.output[..<end]
        let status = try #require(Int(String(decoding: reply.output[(end + 1)...], as: UTF8.self)))
        return Answer(status: status, body: (try? JSON(Array(body))) ?? .null, text: String(decoding: body, as: UTF8.self))
    }

    /// Posts the file as a client does: what a busy machine does not take in time is sent again, with its key.
    private func pin(_ video: LargeVideo, by person: Person) async throws -> Answer {
        let arguments = [
            "-H", "Authorization: Bearer \(person.token)", "-H", "Idempotency-Key: \(UUID().uuidString)",
            "-F", "latitude=12.5", "-F", "longitude=-77.25", "-F", "video=@\(video.file.path);type=video/mp4",
            "http://127.0.0.1:\(person.home.http.port)/api/posts",
        ]
        for _ in 0..<20 {
            let answer = try await curl(arguments)
            let mayRepeat =
                [503, 504].contains(answer.status) || answer.body["error"]["code"].string == "REQUEST_IN_PROGRESS"
            guard mayRepeat else { return answer }
        }
        return try await curl(arguments)
    }

    /// What a busy machine does not answer in time is asked again.
    private func patiently(_ ask: () async throws -> HTTPReply) async throws -> HTTPReply {
        for _ in 0..<20 {
            let reply = try await ask()
            guard [503, 504].contains(reply.status) else { return reply }
        }
        return try await ask()
    }

    /// Sends the file by a link, and makes a post of it.
    private func sendByLink(_ video: LargeVideo, by person: Person) async throws {
        let hash = String(try await run("sha256sum", [video.file.path]).text.prefix(64))
        let json = "{\"size\":\(video.size),\"type\":\"video/mp4\",\"sha256\":\"\(hash)\"}"
        let announced = try await patiently { try await person.post("/api/posts/presign", json, key: hash) }
        try #require(announced.status == 201, "\(announced.text)")
        let headers = announced.data["headers"].list.flatMap { header -> [String] in
            guard let name = header["name"].string, let value = header["value"].string, name != "content-length" else {
                return []
            }
            return ["-H", "\(name): \(value)"]
        }
        let link = "http://127.0.0.1:\(person.home.http.port)\(try target(announced.data["url"]))"
        let sent = try await curl(headers + ["-T", video.file.path, link])
        #expect(sent.status == 204, "\(sent.text)")
        let upload = try #require(announced.data["upload_id"].string)
        let confirmation = "{\"upload_id\":\"\(upload)\",\"latitude\":12.5,\"longitude\":-77.25}"
        let key = UUID().uuidString
        let posted = try await patiently { try await person.post("/api/posts", confirmation, key: key) }
        #expect(posted.status == 201, "\(posted.text)")
    }

    /// A link's path with its query.
    private func target(_ link: JSON) throws -> String {
        let url = try #require(link.string.flatMap { URL(string: $0) })
        return url.path + "?" + (url.query ?? "")
    }

    @Test func `large videos pass the gateway in constant memory and beside the bus, and a browser plays their parts`()
        async throws
    {
        let home = try await Installation(["--separate"])
        let ada = try await Person.register("ada", at: home)
        let video = try await LargeVideo(atMost: Self.size)
        defer { video.remove() }
        #expect(video.size > Self.size - 4_000_000)
        // The first upload loads what every later one uses.
        let small = try await patiently { try await ada.pin(try Photos.jpeg(701), at: 1, 1, key: "small") }
        try #require(small.status == 201, "\(small.text)")
        let meter = try Meter(of: home)

        let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
            for _ in 0..<Self.connections { group.addTask { try await pin(video, by: ada) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.map(\.status) == answers.map { _ in 201 }, "\(answers.map(\.text))")
        let posts = answers.map { $0.body["data"]["post"] }
        #expect(Set(posts.compactMap { $0["id"].string }).count == Self.connections)
        #expect(posts.allSatisfy { abs(($0["duration_ms"].int ?? 0) - video.seconds * 1_000) < 500 }, "\(posts)")
        try await sendByLink(video, by: ada)
        try meter.expect(grownBy: Self.buffers, carried: video.size / 4, "uploads")

        let links = try posts.map { try target($0["video_url"]) }
        let stored = try await read(links, at: home)
        try meter.expect(grownBy: Self.buffers, carried: video.size / 4, "downloads")
        try await play(try #require(links.first), of: stored, at: home)
        await home.guardian.end()
    }

    /// Reads all videos at once, whole, and a part in the middle of one.
    ///
    /// - Returns: the bytes of each.
    private func read(_ links: [String], at home: Installation) async throws -> Int {
        let folder = try Installation.makeFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let site = "http://127.0.0.1:\(home.http.port)"
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for (number, link) in links.enumerated() {
                let file = folder.appending(path: "\(number)").path
                group.addTask { try await curl(["-o", file, site + link]).status }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.allSatisfy { $0 == 200 }, "\(statuses)")
        let sums = try await run("sh", ["-c", "cd \"$0\" && sha256sum * | cut -c 1-64 | sort -u | wc -l", folder.path])
        #expect(sums.text.trimmingCharacters(in: .whitespacesAndNewlines) == "1", "the same file was made of all of them")
        let whole = try Data(contentsOf: folder.appending(path: "0"), options: .alwaysMapped)
        #expect(whole.count > Self.size - 5_000_000)
        let middle = whole.count / 2
        let part = try await home.http.send("GET", links[0], headers: [("Range", "bytes=\(middle)-\(middle + 9_999)")])
        #expect(part.status == 206 && part.body == Array(whole[middle..<(middle + 10_000)]))
        #expect(part.header("Content-Range") == "bytes \(middle)-\(middle + 9_999)/\(whole.count)")
        return whole.count
    }

    /// Has headless Chromium play the end and then the beginning, and looks at a frame of each.
    private func play(_ link: String, of size: Int, at home: Installation) async throws {
        try #require(Command.find("chromium") != nil, "Chromium is missing; deploy/dev setup installs it")
        let artefacts = URL(filePath: ".run/artefacts/places").standardizedFileURL
        try FileManager.default.createDirectory(at: artefacts, withIntermediateDirectories: true)
        let result = try await run(
            try await PythonPackages.browser.value,
            [PythonPackages.file("Pages/video.py"), "http://127.0.0.1:\(home.http.port)", link, "large-video"],
            environment: ["ARTEFACTS": artefacts.path],
            within: .seconds(300)
        )
        try #require(result.status == 0, "\(result.transcript.suffix(4_000))")
        let played = try JSON(result.output)
        #expect(played["width"].int == LargeVideo.width && played["height"].int == LargeVideo.height, "\(played)")
        let (end, start) = (played["frames"][0], played["frames"][1])
        #expect((end["green"].int ?? 0) > 180 && (end["red"].int ?? 255) < 60, "its second half is green: \(played)")
        #expect((start["red"].int ?? 0) > 180 && (start["green"].int ?? 255) < 60, "its first half is red: \(played)")
        let parts = played["parts"].list.compactMap(\.string)
        #expect(!parts.isEmpty && parts.allSatisfy { $0.hasPrefix("206 bytes ") && $0.hasSuffix("/\(size)") }, "\(parts)")
        let starts = parts.compactMap { Int($0.dropFirst("206 bytes ".count).prefix { $0 != "-" }) }
        #expect(starts.contains { $0 > size * 2 / 5 && $0 < size * 9 / 10 }, "it asked for the middle: \(parts)")
    }
}

/// A video of noise, which cannot be compressed: red in its first half, green in its second.
private struct LargeVideo: Sendable {
    static let (width, height) = (640, 480)

    let file: URL
    /// Bytes of the file.
    let size: Int
    let seconds: Int
    private let folder: URL

    /// - Parameter most: bytes; some MB fewer are made.
    init(atMost most: Int) async throws {
        folder = try Installation.makeFolder()
        // A second of each, again and again: ten frames of noise take a third of a second to code.
        var pieces: [URL] = []
        for (name, red, blue, light) in [("red", 240, 90, 50), ("green", 34, 54, 110)] {
            let piece = folder.appending(path: "\(name).mp4")
            let noise = "format=yuv420p,geq=lum='\(light)+random(1)*60':cb=\(blue):cr=\(red)"
            try await Self.ffmpeg([
                "-f", "lavfi", "-i", "nullsrc=s=\(Self.width)x\(Self.height):r=10,\(noise)", "-t", "1", "-c:v", "libx264",
                "-preset", "ultrafast", "-qp", "1", "-g", "5", piece.path,
            ])
            pieces.append(piece)
        }
        let count = try most / Self.bytes(of: pieces[0])
        seconds = count
        let (red, green) = (pieces[0].path, pieces[1].path)
        let order = (0..<count).map { "file '\($0 < count / 2 ? red : green)'\n" }.joined()
        let list = folder.appending(path: "list")
        try Data(order.utf8).write(to: list)
        file = folder.appending(path: "large.mp4")
        try await Self.ffmpeg(["-f", "concat", "-safe", "0", "-i", list.path, "-c", "copy", file.path])
        size = try Self.bytes(of: file)
    }

    private static func ffmpeg(_ arguments: [String]) async throws {
        let result = try await run("ffmpeg", ["-nostdin", "-v", "error"] + arguments)
        try #require(result.status == 0, "\(result.transcript.suffix(1_000))")
    }

    private static func bytes(of file: URL) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int)
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }
}

/// What the kernel says of the processes that bytes could pass through: the gateway's memory, and what the broker has read.
private struct Meter {
    private let gateway: pid_t
    private let broker: pid_t
    private let memory: Int
    private let carried: Int

    init(of home: Installation) throws {
        let names = home.processes()
        gateway = try #require(names.first { $0.value == "gateway" }?.key)
        broker = try #require(names.first { $0.value == "nats-server" }?.key)
        // The most memory is counted anew from here on (proc(5), clear_refs).
        let peak = try FileHandle(forWritingTo: URL(filePath: "/proc/\(gateway)/clear_refs"))
        try peak.write(contentsOf: Data("5".utf8))
        try peak.close()
        memory = try #require(ProcessTree.mostMemory(of: gateway))
        carried = try Self.read(by: broker)
    }

    /// Bytes that a process has read, from sockets and files (proc(5), io).
    private static func read(by process: pid_t) throws -> Int {
        let line = try #require(ProcessFiles.text(process, "io").split(separator: "\n").first { $0.hasPrefix("rchar: ") })
        return try #require(Int(line.dropFirst("rchar: ".count)))
    }

    /// - Parameters:
    ///   - grownBy: bytes by which the gateway may have been larger than at the start, at any time since.
    ///   - limit: bytes that the broker may have read from its clients and files since.
    func expect(grownBy most: Int, carried limit: Int, _ what: String) throws {
        let grown = try #require(ProcessTree.mostMemory(of: gateway)) - memory
        #expect(grown < most, "\(what): the gateway grew by \(grown) bytes")
        let read = try Self.read(by: broker) - carried
        // The calls and events of the posts do go over it.
        #expect(read > 1_000 && read < limit, "\(what): the broker read \(read) bytes")
    }
}
