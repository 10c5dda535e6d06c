import Kernel
import Testing
import Transcoding

@Suite("Random messages survive, and agree with Google's protobuf")
struct PropertyTests {
    private let name = "streaksnap.kitchen.v1.Everything"

    @Test func `JSON to protobuf and back gives the same JSON again`() throws {
        let set = try Fixture.kitchen()
        let request = try #require(RequestTranscoder(set, message: name))
        let reply = try #require(ReplyTranscoder(set, message: name, bare: true))
        var messages = RandomMessages(random: Seeded(state: 3), set: set)
        for _ in 0..<400 {
            let wire = try request.transcode(body: Array(messages.json(name).utf8))
            guard case .json(let json) = try reply.transcode(wire, requestID: "") else { throw TestFailure("no JSON") }
            let again = try reply.transcode(try request.transcode(body: json), requestID: "")
            #expect(again == .json(json))
        }
    }

    @Test func `Google's Python protobuf reads our bytes as the message we were given, and would write the same JSON`()
        async throws
    {
        let set = try Fixture.kitchen()
        let request = try #require(RequestTranscoder(set, message: name))
        let reply = try #require(ReplyTranscoder(set, message: name, bare: true))
        var messages = RandomMessages(random: Seeded(state: 11), set: set)
        var lines = ""
        for _ in 0..<300 {
            let json = messages.json(name)
            let wire = try request.transcode(body: Array(json.utf8))
            lines += "\(json),\"\(wire.hex)\",\(try reply.transcode(wire, requestID: "").text)\n"
        }
        let result = try await Python.run(
            [Fixture.path("compare.py"), Fixture.path("kitchen.binpb"), name],
            input: Array(lines.utf8)
        )
        #expect(result.status == 0 && result.text == "compared 300\n", "\(result.transcript.prefix(2_000))")
    }

    @Test func `JSON changed anywhere is a refusal or a message that reads back, never a crash`() throws {
        let set = try Fixture.kitchen()
        let request = try #require(RequestTranscoder(set, message: name))
        let reply = try #require(ReplyTranscoder(set, message: name, bare: true))
        var messages = RandomMessages(random: Seeded(state: 5), set: set)
        var random = Seeded(state: 6)
        let interesting = Array("{}[]\",:\\u0-.eEnt".utf8) + [0, 0x1F, 0x80, 0xC3, 0xE2, 0xFF]
        var refused = 0
        for _ in 0..<3_000 {
            var body = Array(messages.json(name).utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let at = Int.random(in: 0..<body.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: body[at] = interesting.randomElement(using: &random) ?? 0
                case 1: body.insert(interesting.randomElement(using: &random) ?? 0, at: at)
                case 2 where body.count > 1: body.remove(at: at)
                default: body = Array(body.prefix(max(at, 1)))
                }
            }
            do {
                _ = try reply.transcode(try request.transcode(body: body), requestID: "")
            } catch let error as ServiceError {
                refused += 1
                #expect(error.reason == "VALIDATION_ERROR" && !error.details.isEmpty)
            }
        }
        #expect(refused > 1_000)
    }

    @Test func `Wire bytes changed anywhere are an error or JSON, never a crash`() throws {
        let set = try Fixture.kitchen()
        let request = try #require(RequestTranscoder(set, message: name))
        let reply = try #require(ReplyTranscoder(set, message: name, bare: false))
        var messages = RandomMessages(random: Seeded(state: 8), set: set)
        var random = Seeded(state: 9)
        var refused = 0
        for _ in 0..<3_000 {
            var wire = try request.transcode(body: Array(messages.json(name).utf8))
            for _ in 0..<Int.random(in: 1...4, using: &random) where !wire.isEmpty {
                let at = Int.random(in: 0..<wire.count, using: &random)
                if Bool.random(using: &random) {
                    wire[at] = UInt8.random(in: 0...255, using: &random)
                } else {
                    wire.remove(at: at)
                }
            }
            do {
                let output = try reply.transcode(wire, requestID: "r")
                #expect(output.text.hasPrefix(#"{"success":true,"data":{"#) && output.text.hasSuffix(#""request_id":"r"}}"#))
            } catch { refused += 1 }
        }
        #expect(refused > 300)
    }
}
