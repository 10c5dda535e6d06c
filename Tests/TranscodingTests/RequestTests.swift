import Kernel
import Testing
import Transcoding

@Suite("JSON becomes protobuf")
struct RequestTests {
    private func wire(_ json: String, message: String = "Everything") throws -> String {
        let transcoder = try #require(RequestTranscoder(Fixture.kitchen(), message: "streaksnap.kitchen.v1.\(message)"))
        return try transcoder.transcode(body: Array(json.utf8)).hex
    }

    @Test(arguments: [
        (#"{}"#, ""), ("", ""), ("  \n", ""),
        (#"{"a_double":1.5}"#, "09000000000000f83f"), (#"{"a_float":1.5}"#, "150000c03f"),
        (#"{"an_int32":-1}"#, "18ffffffffffffffffff01"), (#"{"an_int32":150}"#, "189601"),
        (#"{"an_int64":9007199254740993}"#, "208180808080808010"),
        (#"{"an_int64":"-5"}"#, "20fbffffffffffffffff01"), (#"{"a_uint32":4294967295}"#, "28ffffffff0f"),
        (#"{"a_uint64":18446744073709551615}"#, "30ffffffffffffffffff01"), (#"{"a_sint32":-2}"#, "3803"),
        (#"{"a_sint64":2}"#, "4004"), (#"{"a_fixed32":1}"#, "4d01000000"), (#"{"a_fixed64":1}"#, "510100000000000000"),
        (#"{"a_sfixed32":-1}"#, "5dffffffff"), (#"{"a_sfixed64":-1}"#, "61ffffffffffffffff"), (#"{"a_bool":true}"#, "6801"),
        (#"{"a_string":"hé"}"#, "720368c3a9"), (#"{"a_string":"\u00e9\n\ud83d\ude00"}"#, "7207c3a90af09f9880"),
        (#"{"some_bytes":"AP8="}"#, "7a0200ff"), (#"{"some_bytes":"-_8"}"#, "7a02fbff"),
        (#"{"a_spice":"chili_powder"}"#, "800102"), (#"{"a_spice":"pepper"}"#, "800101"),
        (#"{"a_spice":"negative"}"#, "8001fdffffffffffffffff01"),
        (#"{"a_time":"1970-01-01T01:00:01.5+01:00"}"#, "8a010808011080cab5ee01"),
        (#"{"a_child":{}}"#, "920100"), (#"{"a_child":{"an_int32":1}}"#, "9201021801"),
        (#"{"maybe_int":0,"maybe_string":"","maybe_bool":false}"#, "980100a20100b00100"),
        (#"{"maybe_int":null,"a_child":null,"ints":null,"counts":null,"a_string":null}"#, ""),
        (#"{"ints":[1,2,300]}"#, "ba01040102ac02"), (#"{"ints":[]}"#, ""), (#"{"strings":["a",""]}"#, "c2010161c20100"),
        (#"{"spices":["pepper","unspecified"]}"#, "d201020100"), (#"{"loose":[1,2]}"#, "e80101e80102"),
        (#"{"counts":{"a":1}}"#, "f201050a01611001"), (#"{"by_bool":{"true":"x"}}"#, "8202050801120178"),
        (#"{"number":0}"#, "980200"), (#"{"text":null,"number":1}"#, "980201"), (#"{"far":"x"}"#, "827d0178"),
        (#"{"an_int32":3.0}"#, "1803"), (#"{"an_int32":3e2}"#, "18ac02"),
        (#"{"an_int32":0,"a_bool":false,"a_string":""}"#, ""),
        (#" { "an_int32" : 1 } "#, "1801"), (#"{"an_\u0069nt32":1}"#, "1801"),
    ]) func `Each kind of field has its wire form`(json: String, expected: String) throws {
        #expect(try wire(json) == expected)
    }

    @Test func `A submessage longer than 127 bytes gets a longer length, also inside others`() throws {
        for size in [125, 126, 127, 128, 129, 16_380, 16_384, 100_000] {
            let text = String(repeating: "x", count: size)
            let json = #"{"a_child":{"a_child":{"a_string":"\#(text)"},"an_int32":7}}"#
            let set = try Fixture.kitchen()
            let request = try #require(RequestTranscoder(set, message: "streaksnap.kitchen.v1.Everything"))
            let reply = try #require(ReplyTranscoder(set, message: "streaksnap.kitchen.v1.Everything", bare: true))
            let back = try reply.transcode(try request.transcode(body: Array(json.utf8)), requestID: "").text
            #expect(back.contains(#""a_string":"\#(text)""#) && back.contains(#""an_int32":7"#))
        }
    }

    @Test(arguments: [
        (#"{"an_int32":"x"}"#, ["an_int32: must be a 32-bit integer"]),
        (#"{"an_int32":2147483648}"#, ["an_int32: must be a 32-bit integer"]),
        (#"{"an_int32":1.5}"#, ["an_int32: must be a 32-bit integer"]),
        (#"{"a_uint32":-1}"#, ["a_uint32: must be a 32-bit integer that is not negative"]),
        (#"{"an_int64":9223372036854775808}"#, ["an_int64: must be a 64-bit integer"]),
        (#"{"a_uint64":18446744073709551616}"#, ["a_uint64: must be a 64-bit integer that is not negative"]),
        (#"{"a_double":1e999}"#, ["a_double: must be a number"]), (#"{"a_float":1e39}"#, ["a_float: must be a number"]),
        (#"{"a_double":"1"}"#, ["a_double: must be a number"]),
        (#"{"a_bool":"true"}"#, ["a_bool: must be true or false"]), (#"{"a_bool":1}"#, ["a_bool: must be true or false"]),
        (#"{"a_string":5}"#, ["a_string: must be a string"]), (#"{"a_string":{"a":[1]}}"#, ["a_string: must be a string"]),
        (#"{"some_bytes":"A"}"#, ["some_bytes: must be a string in base64"]),
        (#"{"some_bytes":"A*=="}"#, ["some_bytes: must be a string in base64"]),
        (#"{"a_spice":"salt"}"#, ["a_spice: must be one of: pepper, chili_powder, negative"]),
        (#"{"a_spice":1}"#, ["a_spice: must be one of: pepper, chili_powder, negative"]),
        (#"{"a_time":"2026-02-30T00:00:00Z"}"#, ["a_time: must be an RFC 3339 time, 2026-01-02T03:04:05Z"]),
        (#"{"a_child":[]}"#, ["a_child: must be an object"]), (#"{"ints":1}"#, ["ints: must be an array"]),
        (
            #"{"ints":[1,null,"x"]}"#,
            [
                "ints[1]: must be a 32-bit integer",
                "ints[2]: must be a 32-bit integer",
            ]
        ),
        (#"{"children":[{},{"a_child":{"a_bool":0}}]}"#, ["children[1].a_child.a_bool: must be true or false"]),
        (#"{"counts":{"k":true}}"#, [#"counts["k"]: must be a 32-bit integer"#]),
        (#"{"counts":[]}"#, ["counts: must be an object"]), (#"{"counts":{"a":1,"a":2}}"#, [#"counts["a"]: is given twice"#]),
        (#"{"by_number":{"x":{}}}"#, [#"by_number["x"]: has a key that must be a 64-bit integer"#]),
        (#"{"by_number":{"1":{},"01":{}}}"#, [#"by_number["01"]: is given twice"#]),
        (#"{"nope":1,"a_child":{"nah":[]}}"#, ["nope: is not a known field", "a_child.nah: is not a known field"]),
        (#"{"anInt32":1}"#, ["anInt32: is not a known field: did you mean an_int32?"]),
        (#"{"a_child":{"some_byte":""}}"#, ["a_child.some_byte: is not a known field: did you mean some_bytes?"]),
        (#"{"an_int32":1,"an_int32":2}"#, ["an_int32: is given twice"]),
        (
            #"{"text":"a","number":1}"#,
            [
                "number: cannot be given together with another of: text, number, nested, moment"
            ]
        ),
        (#"{"a_string":"a\u0000b"}"#, ["a_string: must not contain NUL"]),
        (#"{"a_string":"\ud800x"}"#, ["a_string: must not contain half of a surrogate pair"]),
        (#"{"a_string":"\udc00"}"#, ["a_string: must not contain half of a surrogate pair"]),
        ("[]", [": must be a JSON object"]), ("null", [": must be a JSON object"]), ("5", [": must be a JSON object"]),
    ]) func `What is wrong is named with its path`(json: String, expected: [String]) {
        #expect(refusal { try wire(json) } == expected)
    }

    @Test(arguments: [
        ("{", 1), ("{\"", 2), ("{\"a_bool\"", 9), ("{\"a_bool\":", 10), ("{\"a_bool\":tru}", 10), ("{\"an_int32\":01}", 12),
        ("{\"an_int32\":1,}", 14), ("{} x", 3), ("{\"an_int32\":-}", 13), ("{\"an_int32\":1.}", 14), ("{\"ints\":[1 2]}", 11),
        ("{\"a_string\":\"\\x\"}", 13), ("{\"a_string\":\"\\u12\"}", 17), ("{\"a_string\":\"\n\"}", 13), ("\u{FEFF}{}", 0),
        ("{a:1}", 1),
        ("{\"a_bool\":true\u{0}}", 14), ("'", 0), ("{\"a_string\":\"\\", 14),
    ]) func `Broken JSON is one problem with the byte it is at`(json: String, offset: Int) {
        let details = refusal { try wire(json) }
        #expect(details.count == 1)
        #expect(details.first?.hasPrefix(": The body is not valid JSON") == true, "\(details)")
        #expect(details.first?.contains("(at byte \(offset))") == true, "\(details)")
    }

    @Test(
        arguments: [
            ("\u{FEFF}{}", "byte order mark"), ("\u{FE}\u{FF}", nil), ("[object Object]", "JSON.stringify"),
            ("{'a_bool':true}", "double quotes"),
            ("{\"a_bool\":true , }", "no comma stands before it"), ("{\"ints\":[1,]}", "no comma stands before it"),
            ("{//\n\"a_bool\":true}", "no comments"), ("{}}", nil), ("{\"a_bool\":}", nil),
        ] as [(String, String?)]
    )
    func `Broken JSON has a hint where it is known what was meant`(json: String, hint: String?) {
        let details = refusal { try wire(json) }
        #expect(hint.map { details.first?.contains($0) == true } ?? (details.first?.hasSuffix(").") == true), "\(details)")
    }

    @Test(arguments: [
        ("an_int32", "must be a 32-bit integer"), ("a_uint32", "must be"), ("a_sint32", "must be"), ("a_fixed32", "must be"),
        ("a_sfixed32", "must be"),
    ]) func `An integer of 32 bits is no text`(field: String, problem: String) {
        let details = refusal { try wire("{\"\(field)\":\"1\"}") }
        #expect(details.count == 1 && details.first?.hasPrefix("\(field): \(problem)") == true, "\(details)")
    }

    @Test func `A value of an enum is no other spelling of it`() {
        #expect(refusal { try wire(#"{"a_spice":"PEPPER"}"#) }.first?.hasPrefix("a_spice: must be one of") == true)
    }

    @Test func `Invalid UTF-8 is refused, in keys as well as values`() throws {
        let transcoder = try #require(RequestTranscoder(Fixture.kitchen(), message: "streaksnap.kitchen.v1.Everything"))
        for bad: [UInt8] in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82], [0xF4, 0x90, 0x80, 0x80], [0x80]] {
            for padding in 0..<20 {
                let text = [UInt8](repeating: 0x61, count: padding) + bad
                let value = Array(#"{"a_string":""#.utf8) + text + Array(#""}"#.utf8)
                #expect(refusal { try transcoder.transcode(body: value) } == ["a_string: must be valid UTF-8"])
                let key = Array(#"{"counts":{""#.utf8) + text + Array(#"":1}}"#.utf8)
                #expect(
                    refusal { try transcoder.transcode(body: key) }.first?.hasSuffix("has a key that must be valid UTF-8") == true
                )
            }
        }
    }

    @Test func `Depth, size and the number of problems are bounded, and a megabyte of hostile JSON is read in linear time`()
        throws
    {
        let transcoder = try #require(RequestTranscoder(Fixture.kitchen(), message: "streaksnap.kitchen.v1.Everything"))
        let million = 1 << 20
        func children(_ depth: Int) -> String {
            String(repeating: #"{"a_child":"#, count: depth) + "{}" + String(repeating: "}", count: depth)
        }
        _ = try transcoder.transcode(body: Array(children(63).utf8))
        #expect(
            refusal { try transcoder.transcode(body: Array(children(64).utf8)) }.first?.contains("nested deeper than 64") == true
        )
        let hostile: [String] = [
            String(repeating: "[", count: million), String(repeating: #"{"a":"#, count: million / 5),
            #"{"a_string":"# + String(repeating: "[", count: million - 20),
            "{" + String(repeating: #""x":1,"#, count: million / 7) + #""x":1}"#,
            "{" + String(repeating: #""a_bool":1,"#, count: million / 12) + #""x":1}"#,
            #"{"children":["# + String(repeating: "{},", count: million / 4) + "{}]}",
            #"{"ints":["# + String(repeating: "1,", count: million / 2 - 20) + "1]}",
            children(60).replacing("{}", with: #"{"a_string":"\#(String(repeating: "y", count: million - 2_000))"}"#),
            #"{"a_string":""# + String(repeating: #"\u00e9"#, count: million / 6 - 10) + #""}"#,
        ]
        let clock = ContinuousClock()
        for text in hostile {
            let body = Array(text.utf8.prefix(million))
            let took = clock.measure {
                if let error = refusalError({ try transcoder.transcode(body: body) }) { #expect(error.details.count <= 50) }
            }
            // A debug build on a busy machine needs well under this; quadratic work would need hours.
            #expect(took < .seconds(20), "\(text.prefix(20))")
        }
        #expect(
            refusal { try transcoder.transcode(body: [UInt8](repeating: 0x20, count: million + 1)) }.first?.contains("larger")
                == true
        )
    }

    private func refusalError(_ body: () throws -> [UInt8]) -> ServiceError? {
        do {
            _ = try body()
            return nil
        } catch { return error as? ServiceError }
    }
}
