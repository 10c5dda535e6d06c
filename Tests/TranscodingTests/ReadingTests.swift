import Kernel
import Testing
import Transcoding

@Suite("A value that cannot be read hides nothing else")
struct ReadingTests {
    private func read(_ json: String) throws -> RequestReading {
        let transcoder = try #require(RequestTranscoder(Fixture.kitchen(), message: "streaksnap.kitchen.v1.Everything"))
        return try transcoder.read(body: Array(json.utf8))
    }

    @Test(arguments: [
        (#"{"an_int32":"x","a_string":"y"}"#, "720179"), (#"{"a_string":5,"a_bool":true}"#, "72013f6801"),
        (#"{"maybe_int":"x","maybe_string":5,"maybe_bool":1}"#, "980100a201013fb00100"),
        (#"{"maybe_string":"a\u0000b"}"#, "a201013f"), (#"{"a_child":5}"#, "920100"),
        (#"{"a_time":"noon"}"#, "8a0106108094ebdc03"), (#"{"":5,"a_bool":true}"#, "6801"),
        (#"{"ints":[1,"x",3]}"#, "ba0103010003"), (#"{"strings":[5,"a"]}"#, "c201013fc2010161"),
        (#"{"spices":["salt","pepper"]}"#, "d201020001"), (#"{"loose":[{},2]}"#, "e80100e80102"), (#"{"ints":"x"}"#, ""),
        (#"{"a_child":{"an_int32":[],"a_bool":true}}"#, "9201026801"), (#"{"number":"x"}"#, "980200"),
        (#"{"counts":{"a":"x"}}"#, "f201050a01611000"), (#"{"by_number":{"x":{}},"a_bool":true}"#, "6801"),
    ]) func `a stand-in keeps its place`(json: String, expected: String) throws {
        let reading = try read(json)
        #expect(!reading.problems.isEmpty && reading.mayHideProblems)
        #expect(reading.message.hex == expected)
        #expect(throws: ServiceError.validation(reading.problems)) { try reading.request() }
    }

    @Test func `what else is wrong is added, nothing that a stand-in may have caused`() async throws {
        var reading = try read(#"{"ints":[1,"x"],"counts":{"a":"x"},"a_child":{"a_bool":5}}"#)
        let found = [
            "", "ints", "ints[0]", "ints[1]", "ints[10]", "counts", "counts[a]", "counts[b]", "a_child", "a_child.a_bool",
            "a_child.a_string", "a_child.a_bool.deeper", "a_childish", "name",
        ]
        await reading.add { _ in found.map { ServiceError.Detail(field: $0, message: "is required") } }
        #expect(
            reading.problems.map(\.field) == [
                "ints[1]", #"counts["a"]"#, "a_child.a_bool", "ints[0]", "ints[10]", "counts[b]", "a_child.a_string",
                "a_childish",
                "name",
            ]
        )
    }

    @Test func `a name that is none hides nothing, and what a form was refused for comes first`() async throws {
        var reading = try read(#"{"":5,"an_int32":"x"}"#)
        #expect(reading.problems.map(\.field) == ["", "an_int32"])
        reading.begin(with: [.init(field: "part", message: "must come once")])
        await reading.add { _ in [.init(field: "", message: "is wrong"), .init(field: "name", message: "is required")] }
        #expect(reading.problems.map(\.field) == ["part", "", "an_int32", "name"])
    }

    @Test func `other numbers stand in a second message, and only what is wrong with both is added`() async throws {
        var reading = try read(#"{"an_int32":"x","a_bool":"yes","maybe_int":[],"a_string":"y"}"#)
        var asked: [String] = []
        await reading.add { message in
            asked.append(message.hex)
            let depends = asked.count == 1 ? "name" : "number"
            return [.init(field: depends, message: "is required"), .init(field: "a_string", message: "is too short")]
        }
        #expect(asked == ["980100720179", "18016801980103720179"])
        #expect(reading.problems.map(\.field) == ["an_int32", "a_bool", "maybe_int", "a_string"])
    }

    @Test func `where nothing is added nothing is asked twice`() async throws {
        var reading = try read(#"{"an_int32":"x"}"#)
        var asked = 0
        await reading.add { _ in
            asked += 1
            return [.init(field: "an_int32", message: "must be positive")]
        }
        #expect(asked == 1 && reading.problems.map(\.field) == ["an_int32"])
    }

    @Test func `there are at most 50 entries`() async throws {
        var reading = try read(#"{"ints":["a","b"]}"#)
        await reading.add { _ in (0..<100).map { ServiceError.Detail(field: "strings[\($0)]", message: "is required") } }
        #expect(reading.problems.count == 50 && !reading.mayHideProblems)
        let full = try read(#"{"ints":["# + Array(repeating: #""x""#, count: 60).joined(separator: ",") + "]}")
        #expect(full.problems.count == 50 && !full.mayHideProblems)
    }

    @Test(arguments: ["{}", #"{"an_int32":"x",}"#, "[]"])
    func `nothing is asked about a request that is right, or no JSON object`(json: String) throws {
        #expect(try !read(json).mayHideProblems)
    }
}
