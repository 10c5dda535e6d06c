import Foundation
import Processes
import TestSupport
import Testing
import Zip

@Suite struct ZipTests {
    /// An archive that Python makes.
    private func archive(_ script: String) async throws -> [UInt8] {
        let head = "import io, sys, zipfile\nout = io.BytesIO()\n"
        let result = try await run("python3", ["-c", head + script + "\nsys.stdout.buffer.write(out.getvalue())"])
        try #require(result.status == 0, "\(result.transcript)")
        return Array(result.output)
    }

    private static let usual = """
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
            z.writestr("Habits.csv", "Name\\n" * 1000)
            z.writestr("001 Über/", "")
            z.writestr("001 Über/Checkmarks.csv", "Date,Value\\n")
            z.writestr("empty.csv", "")
            z.writestr("stored.csv", "abc", zipfile.ZIP_STORED)
            z.comment = b"a comment"
        """

    @Test func `What Python packs is unpacked`() async throws {
        let archive = try ZipArchive(try await archive(Self.usual))
        #expect(archive.entries.map(\.name) == ["Habits.csv", "001 Über/Checkmarks.csv", "empty.csv", "stored.csv"])
        let contents = try archive.entries.map { String(decoding: try archive.content(of: $0), as: UTF8.self) }
        #expect(contents == [String(repeating: "Name\n", count: 1000), "Date,Value\n", "", "abc"])
    }

    @Test func `An archive written as a stream and one with ZIP64 records are read`() async throws {
        let streamed = try await archive(
            """
            class Pipe(io.RawIOBase):
                def writable(self): return True
                def write(self, data): out.write(data); return len(data)
            with zipfile.ZipFile(Pipe(), "w", zipfile.ZIP_DEFLATED) as z:
                with z.open("a.csv", "w", force_zip64=True) as f: f.write(b"x" * 500)
            """
        )
        let archive = try ZipArchive(streamed)
        #expect(try archive.entries.map { try archive.content(of: $0).count } == [500])
    }

    @Test func `Bombs are refused before they are unpacked, and never unpack to more than they say`() async throws {
        let bomb = try await archive(
            "with zipfile.ZipFile(out, \"w\", zipfile.ZIP_DEFLATED) as z: z.writestr(\"a\", bytes(20_000_000))"
        )
        #expect(bomb.count < 50_000)
        #expect(throws: ZipError.tooLarge) { try ZipArchive(bomb, limits: .init(entryBytes: 1_000_000)) }
        #expect(throws: ZipError.tooLarge) { try ZipArchive(bomb, limits: .init(totalBytes: 1_000_000)) }
        // It says that it has 1,000 bytes.
        var liar = bomb
        let directory = try #require(liar.indices.dropLast(3).last { Array(liar[$0..<$0 + 4]) == [0x50, 0x4B, 1, 2] })
        liar.replaceSubrange(directory + 24..<directory + 28, with: [0xE8, 3, 0, 0])
        let archive = try ZipArchive(liar)
        #expect(throws: ZipError.corrupt) { try archive.content(of: archive.entries[0]) }
        let many = try await self.archive(
            "with zipfile.ZipFile(out, \"w\") as z:\n    for i in range(50): z.writestr(str(i), \"\")"
        )
        #expect(throws: ZipError.tooManyEntries) { try ZipArchive(many, limits: .init(entries: 49)) }
        // A second entry of the directory has the bytes of the first.
        let twice = try await self.archive(
            "with zipfile.ZipFile(out, \"w\") as z:\n    z.writestr(\"a\", \"xx\"); z.writestr(\"b\", \"xx\")\n    z.infolist()[1].header_offset = 0"
        )
        #expect(throws: ZipError.corrupt) { try ZipArchive(twice) }
    }

    @Test(arguments: ["../a", "/a", "a/../b", "a\\b", "C:a", "a//b", "./a", "a\u{1}"])
    func `Names that lead out of the archive are refused`(name: String) async throws {
        let text = name.unicodeScalars.map { "\\u" + String(String($0.value + 0x10000, radix: 16).dropFirst()) }.joined()
        let bytes = try await archive(
            "z = zipfile.ZipFile(out, \"w\"); i = zipfile.ZipInfo(\"x\"); i.filename = \"\(text)\"; z.writestr(i, \"\"); z.close()"
        )
        #expect(throws: ZipError.unsafeName) { try ZipArchive(bytes) }
    }

    @Test func `Encryption and other compressions are refused by name`() async throws {
        var bytes = try await archive("with zipfile.ZipFile(out, \"w\") as z: z.writestr(\"a\", \"x\")")
        let directory = try #require(bytes.indices.dropLast(3).first { Array(bytes[$0..<$0 + 4]) == [0x50, 0x4B, 1, 2] })
        bytes[directory + 8] |= 1
        #expect(throws: ZipError.encrypted) { try ZipArchive(bytes) }
        let bzip = try await archive("with zipfile.ZipFile(out, \"w\", zipfile.ZIP_BZIP2) as z: z.writestr(\"a\", \"x\")")
        #expect(throws: ZipError.unsupported) { try ZipArchive(bzip) }
        #expect(throws: ZipError.corrupt) { try ZipArchive([]) }
        #expect(throws: ZipError.corrupt) { try ZipArchive(Array("no archive, but long enough to be one".utf8)) }
    }

    @Test func `A wrong checksum is seen`() async throws {
        var bytes = try await archive("with zipfile.ZipFile(out, \"w\") as z: z.writestr(\"a\", \"hello\")")
        let place = try #require(bytes.indices.dropLast(4).first { Array(bytes[$0..<$0 + 5]) == Array("hello".utf8) })
        bytes[place] ^= 1
        let archive = try ZipArchive(bytes)
        #expect(throws: ZipError.corrupt) { try archive.content(of: archive.entries[0]) }
    }

    @Test(arguments: TestDepth.seeds(quick: 1, full: 20))
    func `Damaged archives never trap and stay within their limits`(seed: UInt64) async throws {
        let usual = try await archive(Self.usual)
        var random = Seeded(seed)
        let limits = ZipArchive.Limits(entries: 20, entryBytes: 100_000, totalBytes: 200_000)
        var unpacked = 0
        for _ in 0..<2_000 {
            var bytes = usual
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] = random.pick([0, 0xFF, 0x50, 0x4B])
                case 1: bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
                case 2: bytes.remove(at: place)
                default: bytes.removeLast(min(30, bytes.count - place))
                }
                if bytes.isEmpty { bytes = [0] }
            }
            do throws(ZipError) {
                let archive = try ZipArchive(bytes, limits: limits)
                for entry in archive.entries {
                    let content = try archive.content(of: entry)
                    #expect(content.count <= limits.entryBytes)
                    unpacked += 1
                }
            } catch { continue }
        }
        // Otherwise only the directory was tried.
        #expect(unpacked > 0)
    }
}
