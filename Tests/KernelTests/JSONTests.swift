import Foundation
import Kernel
import Processes
import TestSupport
import Testing

@Suite struct JSONTests {
    /// A random document, and the same as Python is to see it.
    private static func write(_ json: inout JSONWriter, _ random: inout Seeded, depth: Int = 0) {
        switch Int.random(in: 0..<(depth > 4 ? 5 : 7), using: &random) {
        case 0: json.null()
        case 1: json.bool(random.chance(50))
        case 2: json.integer(Int64.random(in: -1_000_000_000_000...1_000_000_000_000, using: &random))
        case 3: json.thousandths(Int64.random(in: -1_000_000...1_000_000, using: &random))
        case 4: json.string(text(&random))
        case 5:
            json.beginArray()
            for _ in 0..<Int.random(in: 0...4, using: &random) { write(&json, &random, depth: depth + 1) }
            json.endArray()
        default:
            json.beginObject()
            for index in 0..<Int.random(in: 0...4, using: &random) {
                json.name(text(&random) + "\(index)")
                write(&json, &random, depth: depth + 1)
            }
            json.endObject()
        }
    }

    private static func text(_ random: inout Seeded) -> String {
        let pieces = ["\"", "\\", "\n", "\u{1}", "\u{1f}", "é", "👩‍👧", "\u{2028}", "/", "a", "\u{7f}", "\u{10ffff}"]
        return (0..<Int.random(in: 0...6, using: &random)).map { _ in random.pick(pieces) }.joined()
    }

    /// Reads a document and writes what was read.
    private static func copy(_ reader: inout JSONReader, _ json: inout JSONWriter) throws(JSONProblem) {
        switch try reader.kind() {
        case .null:
            try reader.null()
            json.null()
        case .bool: json.bool(try reader.bool())
        case .number: json.thousandths(Int64(exactly: (try reader.number() * 1000).rounded()) ?? 0)
        case .string: json.string(try reader.string())
        case .array:
            try reader.beginArray()
            json.beginArray()
            while try reader.nextElement() { try copy(&reader, &json) }
            json.endArray()
        case .object:
            try reader.beginObject()
            json.beginObject()
            while let name = try reader.nextName() {
                json.name(name)
                try copy(&reader, &json)
            }
            json.endObject()
        }
    }

    @Test(arguments: TestDepth.seeds(quick: 3, full: 30))
    func `Python reads what was written, and what Python writes is read`(seed: UInt64) async throws {
        var random = Seeded(seed)
        var json = JSONWriter()
        json.beginArray()
        for _ in 0..<50 { Self.write(&json, &random) }
        json.endArray()
        let written = json.drain()
        let script = "import json, sys; json.dump(json.load(sys.stdin.buffer), sys.stdout, indent=1)"
        let result = try await run("python3", ["-c", script], input: written)
        try #require(result.status == 0, "\(result.transcript)")
        var reader = JSONReader(Array(result.output))
        var again = JSONWriter()
        try Self.copy(&reader, &again)
        try reader.finish()
        #expect(again.drain() == written)
    }

    @Test(arguments: [
        ("{\"a\":[1,2,{\"b\":}]}", "a[2].b", 1, 16), ("{\"a\":1,}", "a", 1, 8), ("[1,]", "[1]", 1, 4), ("[1\n 2]", "[0]", 2, 2),
        ("{\"a\" 1}", "", 1, 6), ("[01]", "[0]", 1, 3), ("[1.]", "[0]", 1, 4), ("[\"\\ud800\"]", "[0]", 1, 9),
        ("[\"\\u0000\"]", "[0]", 1, 9), ("[\"\\ud800\\u0000\"]", "[0]", 1, 15), ("[\"\\udc00\"]", "[0]", 1, 9),
        ("[\"a\nb\"]", "[0]", 2, 1), ("[tru]", "[0]", 1, 2), ("{\"a\":1,\"a\":2}", "a", 1, 12),
        ("[1] 2", "", 1, 5), ("", "", 1, 1), ("[\"a", "[0]", 1, 4),
    ])
    func `What is wrong is named by path, line and column`(text: String, path: String, line: Int, column: Int) throws {
        let problem = try #require(throws: JSONProblem.self) {
            var reader = JSONReader(Array(text.utf8))
            try reader.skip()
            try reader.finish()
        }
        #expect(problem.path == path, "\(problem)")
        #expect((problem.line, problem.column) == (line, column), "\(problem)")
    }

    @Test func `Values that the caller does not read are skipped, and checked all the same`() throws {
        var reader = JSONReader(Array("{\"a\":{\"b\":[1,{}]},\"c\":\"x\"}".utf8))
        try reader.beginObject()
        #expect(try reader.nextName() == "a")
        #expect(try reader.nextName() == "c")
        #expect(try reader.string() == "x")
        #expect(try reader.nextName() == nil)
        try reader.finish()
        var broken = JSONReader(Array("{\"a\":[nul],\"c\":1}".utf8))
        try broken.beginObject()
        _ = try broken.nextName()
        #expect(throws: JSONProblem.self) { try broken.nextName() }
    }

    @Test func `Depth, members, strings and values are bounded`() {
        func fails(_ text: String, _ limits: JSONReader.Limits) -> Bool {
            var reader = JSONReader(Array(text.utf8), limits: limits)
            do throws(JSONProblem) {
                try reader.skip()
                return false
            } catch { return true }
        }
        #expect(fails("[[[]]]", .init(depth: 2)))
        #expect(!fails("[[]]", .init(depth: 2)))
        #expect(fails("{\"a\":1,\"b\":2}", .init(members: 1)))
        #expect(fails("[\"abc\"]", .init(stringBytes: 2)))
        #expect(fails("[1,2,3]", .init(values: 3)))
        #expect(!fails("[1,2]", .init(values: 3)))
        #expect(fails(String(repeating: "[", count: 1_000_000), .init()))
    }

    @Test(arguments: TestDepth.seeds(quick: 300, full: 10_000))
    func `Damaged documents never trap`(seed: UInt64) {
        var random = Seeded(seed)
        var json = JSONWriter()
        Self.write(&json, &random)
        var bytes = json.drain()
        for _ in 0..<3 where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            if random.chance(50) { bytes[place] = UInt8.random(in: 0...255, using: &random) } else { bytes.remove(at: place) }
        }
        var reader = JSONReader(bytes)
        do throws(JSONProblem) {
            try Self.copy(&reader, &json)
            try reader.finish()
        } catch { #expect(error.line >= 1 && error.column >= 1) }
    }

    @Test func `Decimals have no needless zeros`() {
        for (value, text) in [(1500, "1.5"), (-1, "-0.001"), (20_000, "20"), (0, "0"), (1_000_000_000_010, "1000000000.01")] {
            #expect(JSONWriter.decimal(thousandths: Int64(value)) == text)
        }
    }
}
