import Foundation
@testable import GatewayService
import Processes
import Testing

/// The same sequence of numbers for the same seed.
struct Dice {
    private var state: UInt64
    init(_ seed: Int) { state = UInt64(seed &+ 1) &* 0x9E37_79B9_7F4A_7C15 | 1 }
    mutating func roll(_ bound: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state % UInt64(bound))
    }
}

/// A part as a whole.
private struct Part: Equatable {
    var name: String
    var fileName: String?
    var contentType: String?
    var bytes: [UInt8] = []
    var isComplete = false
}

@Suite("Multipart bodies")
struct MultipartTests {
    private static func parse(_ chunks: [[UInt8]], boundary: String) throws -> (parts: [Part], isComplete: Bool) {
        var parser = try #require(MultipartParser(boundary: boundary))
        var parts: [Part] = []
        for chunk in chunks {
            for event in try parser.consume(chunk) {
                switch event {
                case .begin(let name, let fileName, let contentType):
                    #expect(parts.last?.isComplete ?? true)
                    parts.append(Part(name: name, fileName: fileName, contentType: contentType))
                case .data(let slice): parts[parts.count - 1].bytes += slice
                case .end: parts[parts.count - 1].isComplete = true
                }
            }
        }
        return (parts, parser.isComplete)
    }

    private static func parse(_ text: String, boundary: String = "b") throws -> (parts: [Part], isComplete: Bool) {
        try parse([Array(text.utf8)], boundary: boundary)
    }

    private static func splits(_ body: [UInt8], _ dice: inout Dice, longest: Int) -> [[UInt8]] {
        var chunks: [[UInt8]] = []
        var rest = body[...]
        while !rest.isEmpty {
            let chunk = rest.prefix(1 + dice.roll(longest))
            chunks.append(Array(chunk))
            rest = rest.dropFirst(chunk.count)
        }
        return chunks
    }

    @Test func `An upload of a field and a file`() throws {
        let (parts, isComplete) = try Self.parse(
            "preamble\r\n--b\r\nContent-Disposition: form-data; name=\"caption\"\r\n\r\nhello\r\nworld\r\n--b  \r\n"
                + "content-type: image/png\r\nContent-Disposition: form-data; name=photo; filename=\"a \\\"b\\\".png\"\r\n\r\n\r\n--b--\r\nepilogue"
        )
        #expect(isComplete)
        #expect(
            parts == [
                Part(name: "caption", bytes: Array("hello\r\nworld".utf8), isComplete: true),
                Part(name: "photo", fileName: "a \"b\".png", contentType: "image/png", isComplete: true),
            ]
        )
    }

    @Test(arguments: 0..<150) func `However a body is split, it means the same`(seed: Int) throws {
        var dice = Dice(seed)
        let boundary = "----B"
        var expected: [Part] = []
        var body: [UInt8] = []
        // Pieces of the boundary itself, so that the content comes as close to it as can be.
        let pieces: [[UInt8]] = [
            "\r\n----", "\r\n------", "\r\n------A", "\r", "\n", "\r\n", "--", "------B", "\r\r\n--", "x", "\u{0}",
        ].map {
            Array($0.utf8)
        }
        for index in 0..<(1 + dice.roll(4)) {
            var content: [UInt8] = []
            for _ in 0..<dice.roll(30) { content += pieces[dice.roll(pieces.count)] }
            // Only the delimiter itself cannot be content.
            if String(decoding: [13, 10] + content, as: UTF8.self).utf8.contains("\r\n--\(boundary)".utf8) { content = [] }
            expected.append(Part(name: "p\(index)", bytes: content, isComplete: true))
            body +=
                Array("--\(boundary)\r\nContent-Disposition: form-data; name=\"p\(index)\"\r\n\r\n".utf8) + content + [13, 10]
        }
        body += Array("--\(boundary)--\r\n".utf8)
        for longest in [1, 3, 17, 200] {
            let (parts, isComplete) = try Self.parse(Self.splits(body, &dice, longest: longest), boundary: boundary)
            #expect(isComplete)
            #expect(parts == expected)
        }
    }

    @Test(arguments: 0..<5) func `Bodies that Python's email package makes are read as they were meant`(seed: Int) async throws {
        let script = """
            import base64, json, random, sys
            from email.mime.multipart import MIMEMultipart
            from email.mime.application import MIMEApplication
            from email import policy, encoders
            random.seed(int(sys.argv[1]))
            message = MIMEMultipart("form-data")
            parts = []
            for index in range(random.randint(1, 6)):
                content = bytes(random.choice([13, 10, 45, 61, 0, 255, 65]) for _ in range(random.randint(0, 3000)))
                part = MIMEApplication(content, "octet-stream", encoders.encode_noop)
                del part["MIME-Version"]
                part.add_header("Content-Disposition", "form-data", name=f"field {index}", filename=f"f;{index}.bin")
                part.set_payload(content.decode("latin-1"))
                message.attach(part)
                parts.append({"name": f"field {index}", "fileName": f"f;{index}.bin", "content": base64.b64encode(content).decode()})
            boundary = "=".join("xyz") + str(random.getrandbits(90))
            message.set_boundary(boundary)
            lines = [b""]
            for part in message.get_payload():
                head = b"".join(f"{k}: {v}\\r\\n".encode() for k, v in part.items())
                lines.append(b"--" + boundary.encode() + b"\\r\\n" + head + b"\\r\\n" + part.get_payload().encode("latin-1"))
            body = b"\\r\\n".join(lines) + b"\\r\\n--" + boundary.encode() + b"--\\r\\n"
            print(json.dumps({"type": message["Content-Type"], "body": base64.b64encode(body).decode(), "parts": parts}))
            """
        struct Case: Decodable {
            struct Part: Decodable {
                let name: String
                let fileName: String
                let content: Data
            }
            let type: String
            let body: Data
            let parts: [Part]
        }
        let result = try await run("python3", ["-c", script, String(seed)])
        let sample = try JSONDecoder().decode(Case.self, from: Data(result.output))
        let boundary = try #require(MultipartParser.boundary(ofContentType: sample.type.replacing("\n", with: "")))
        var dice = Dice(seed)
        let (parts, isComplete) = try Self.parse(Self.splits(Array(sample.body), &dice, longest: 700), boundary: boundary)
        #expect(isComplete)
        #expect(parts.map(\.name) == sample.parts.map(\.name))
        #expect(parts.map(\.fileName) == sample.parts.map(\.fileName))
        #expect(parts.map { Data($0.bytes) } == sample.parts.map(\.content))
        #expect(parts.allSatisfy { $0.contentType == "application/octet-stream" })
    }

    @Test func `A body that ends early is not complete`() throws {
        let whole = "--b\r\nContent-Disposition: form-data; name=a\r\n\r\nxyz\r\n--b--"
        for length in 0..<whole.utf8.count {
            #expect(try !Self.parse([Array(whole.utf8.prefix(length))], boundary: "b").isComplete, "\(length)")
        }
        #expect(try Self.parse(whole).isComplete)
    }

    @Test(arguments: [
        "--b\r\n\r\nno name\r\n--b--", "--b\r\nContent-Disposition: form-data; name=\"\"\r\n\r\nx\r\n--b--", "--bx\r\n",
        "--b\r\nno colon\r\n\r\nx\r\n--b--", "--b\r\nA: \(String(repeating: "x", count: 9_000))",
        "--b\(String(repeating: " ", count: 200))",
        "--b\r\nContent-Disposition: form-data; name=\(String(repeating: "n", count: 300))\r\n\r\n",
    ]) func `Malformed bodies are refused`(text: String) {
        #expect(throws: MultipartParser.Malformed.self) { try Self.parse(text) }
    }

    @Test func `A header over its limit is refused even when its end comes in the same bytes`() {
        let text =
            "--b\r\nContent-Disposition: form-data; name=a\r\nX: \(String(repeating: "x", count: 20_000))\r\n\r\nx\r\n--b--"
        #expect(throws: MultipartParser.Malformed.self) { try Self.parse(text) }
    }

    @Test(arguments: [1, 4_096, 100_000])
    func `What never comes to its first boundary is refused, in whatever pieces`(size: Int) throws {
        let part = "--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--b--"
        let (few, many) = ([UInt8](repeating: 32, count: 8_000) + [13, 10], [UInt8](repeating: 32, count: 9_000))
        func pieces(_ bytes: [UInt8]) -> [[UInt8]] {
            stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
        }
        #expect(try Self.parse(pieces(few + part.utf8), boundary: "b").isComplete)
        for bytes in [many, many + [13, 10] + part.utf8] {
            #expect(throws: MultipartParser.Malformed.self) { try Self.parse(pieces(bytes), boundary: "b") }
        }
    }

    @Test func `Too many parts are refused`() throws {
        let part = "--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n"
        #expect(try Self.parse(String(repeating: part, count: 600) + "--b--").isComplete)
        #expect(throws: MultipartParser.Malformed.self) { try Self.parse(String(repeating: part, count: 601) + "--b--") }
    }

    @Test func `A boundary must be 1 to 70 characters`() {
        #expect(MultipartParser(boundary: "") == nil)
        #expect(MultipartParser(boundary: String(repeating: "b", count: 71)) == nil)
        #expect(MultipartParser.boundary(ofContentType: "multipart/form-data; boundary=\"a b\"") == "a b")
        #expect(MultipartParser.boundary(ofContentType: "Multipart/Form-Data; charset=x; BOUNDARY=q") == "q")
        #expect(MultipartParser.boundary(ofContentType: "multipart/mixed; boundary=q") == nil)
        #expect(MultipartParser.boundary(ofContentType: "multipart/form-data") == nil)
    }

    @Test func `Content never lies about and is never kept: memory stays bounded while a part streams`() throws {
        var parser = try #require(MultipartParser(boundary: "b"))
        _ = try parser.consume(Array("--b\r\nContent-Disposition: form-data; name=a\r\n\r\n".utf8))
        var seen = 0
        for _ in 0..<200 {
            for event in try parser.consume([UInt8](repeating: 13, count: 4_096)) {
                if case .data(let slice) = event { seen += slice.count }
            }
        }
        #expect(200 * 4_096 - seen <= 5)
    }

    @Test(arguments: [
        ("form-data; name=a", "form-data", ["name": "a"]), ("x;a=1;b=\"2;3\" ; c=4", "x", ["a": "1", "b": "2;3", "c": "4"]),
        ("x; a=\"q\\\"q\\\\\"", "x", ["a": "q\"q\\"]), ("x; A = 1 ", "x", ["a": "1"]), ("", "", [:]), (";;;", "", [:]),
        ("x; novalue", "x", [:]), ("x; a=\"open", "x", ["a": "open"]),
        ("x; filename=\"C:\\dir\\f.png\"", "x", ["filename": "C:\\dir\\f.png"]),
    ]) func `Parameters of a header`(text: String, value: String, expected: [String: String]) {
        let parsed = HeaderParameters(text)
        #expect(parsed.value == value)
        for (key, wanted) in expected { #expect(parsed[key] == wanted) }
        #expect(parsed["none"] == nil)
    }
}

extension Sequence where Element == UInt8 {
    /// Whether these bytes occur in a row.
    fileprivate func contains(_ other: some Sequence<UInt8>) -> Bool {
        Data(self).range(of: Data(other)) != nil
    }
}
