import Kernel
import Testing
import Transcoding

@Suite("Protobuf becomes JSON")
struct ReplyTests {
    private func json(_ wire: [UInt8], _ message: String = "DishReply", bare: Bool = false) throws -> String {
        let transcoder = try #require(ReplyTranscoder(Fixture.kitchen(), message: "streaksnap.kitchen.v1.\(message)", bare: bare))
        return try transcoder.transcode(wire, requestID: "r1").text
    }

    @Test func `Every field of an empty message is there, in declaration order`() throws {
        let expected =
            #"{"a_double":0,"a_float":0,"an_int32":0,"an_int64":0,"a_uint32":0,"a_uint64":0,"a_sint32":0,"a_sint64":0,"#
            + #""a_fixed32":0,"a_fixed64":0,"a_sfixed32":0,"a_sfixed64":0,"a_bool":false,"a_string":"","some_bytes":"","#
            + #""a_spice":"unspecified","a_time":null,"a_child":null,"maybe_int":null,"maybe_string":null,"maybe_spice":null,"#
            + #""maybe_bool":null,"ints":[],"strings":[],"children":[],"spices":[],"times":[],"doubles":[],"loose":[],"#
            + #""counts":{},"by_number":{},"by_bool":{},"spice_of":{},"text":null,"number":null,"nested":null,"moment":null,"#
            + #""blobs":[],"far":"","near":""}"#
        #expect(try json([], "Everything", bare: true) == expected)
    }

    @Test func `Meta and message are lifted beside data, and meta has all its fields and the request id`() throws {
        let unset =
            #"{"success":true,"data":{"dish_id":"","spice":"unspecified","note":null},"message":"","#
            + #""meta":{"next_cursor":null,"total":null,"request_id":"r1"}}"#
        #expect(try json([]) == unset)
        let set =
            #"{"success":true,"data":{"dish_id":"d","spice":7,"note":""},"message":"m\"","#
            + #""meta":{"next_cursor":"c","total":5,"request_id":"r1"}}"#
        // note, meta, spice 7, message, dish_id: the order on the wire does not matter.
        #expect(try json([0x2A, 0, 0x22, 5, 0x0A, 1, 0x63, 0x10, 5, 0x18, 7, 0x12, 2, 0x6D, 0x22, 0x0A, 1, 0x64]) == set)
        #expect(try json([], "ListDishesReply") == #"{"success":true,"data":{"dishes":[]},"meta":{"request_id":"r1"}}"#)
        #expect(
            try json([], bare: true)
                == #"{"dish_id":"","message":"","spice":"unspecified","meta":null,"note":null}"#
        )
    }

    @Test func `Strings are escaped as JSON asks, at every position of a word`() throws {
        for padding in 0..<18 {
            let pad = String(repeating: "a", count: padding)
            let text = pad + "\"\\\n\r\t\u{1}\u{1F}é😀/" + pad
            let wire = [0x0A, UInt8(text.utf8.count)] + Array(text.utf8)
            let expected = pad + #"\"\\\n\r\t\u0001\u001fé😀/"# + pad
            #expect(try json(wire).contains(#""dish_id":"\#(expected)""#))
        }
    }

    @Test(
        arguments: [
            ([0x09, 0, 0, 0, 0, 0, 0, 0xF8, 0x3F], #""a_double":1.5"#),
            ([0x09, 0, 0, 0, 0, 0, 0, 0xF0, 0x7F], #""a_double":null"#),
            ([0x09, 0, 0, 0, 0, 0, 0, 0x08, 0x40], #""a_double":3"#), ([0x15, 0xCD, 0xCC, 0xCC, 0x3D], #""a_float":0.1"#),
            ([0x18, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1], #""an_int32":-1"#),
            ([0x20, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1], #""an_int64":-9223372036854775808"#),
            ([0x30, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1], #""a_uint64":18446744073709551615"#),
            ([0x38, 3], #""a_sint32":-2"#), ([0x38, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F], #""a_sint32":-2147483648"#),
            ([0x40, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1], #""a_sint64":-9223372036854775808"#),
            ([0x5D, 0xFF, 0xFF, 0xFF, 0xFF], #""a_sfixed32":-1"#), ([0x7A, 2, 0, 0xFF], #""some_bytes":"AP8=""#),
            ([0x7A, 4, 1, 2, 3, 4], #""some_bytes":"AQIDBA==""#), ([0x80, 1, 2], #""a_spice":"chili_powder""#),
            ([0x80, 1, 0xFD, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1], #""a_spice":"negative""#),
            ([0x80, 1, 9], #""a_spice":9"#), ([0x8A, 1, 0], #""a_time":"1970-01-01T00:00:00Z""#),
            ([0x8A, 0x01, 0x07, 0x08, 0xFF, 0x82, 0xD1, 0xFF, 0xAF, 0x07], #""a_time":"9999-12-31T23:59:59Z""#),
            ([0x8A, 0x01, 0x07, 0x08, 0x80, 0x83, 0xD1, 0xFF, 0xAF, 0x07], "malformed"),
            ([0x8A, 1, 4, 0x10, 0xE8, 0x07, 0x08], "malformed"),
            ([0x8A, 1, 3, 0x10, 0xE8, 0x07], #""a_time":"1970-01-01T00:00:00.000001Z""#),
            ([0x8A, 1, 2, 0x08, 0x01, 0x8A, 1, 3, 0x10, 0xE8, 0x07], #""a_time":"1970-01-01T00:00:01.000001Z""#),
            ([0x8A, 1, 11, 0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1], #""a_time":"1969-12-31T23:59:59Z""#),
            ([0x8A, 1, 11, 0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 0], "malformed"),
        ] as [([Int], String)]
    ) func `Numbers, times and bytes have one form`(wire: [Int], expected: String) throws {
        let bytes = wire.map { UInt8($0) }
        if expected == "malformed" {
            #expect(throws: ReplyError.self) { try json(bytes, "Everything", bare: true) }
        } else {
            let text = try json(bytes, "Everything", bare: true)
            #expect(text.contains(expected), "\(text.prefix(300))")
        }
    }

    @Test func `Repeated fields may be packed, unpacked, mixed and interleaved; unknown fields are stepped over`() throws {
        let wire: [UInt8] = [
            0xB8, 1, 1, 0xC2, 1, 1, 0x61, 0xBA, 1, 2, 2, 3, 0x98, 0x7D, 5, 0xC2, 1, 0, 0xB8, 1, 4, 0xEA, 1, 2, 8, 9, 0xE8, 1, 7,
        ]
        let text = try json(wire, "Everything", bare: true)
        #expect(text.contains(#""ints":[1,2,3,4],"strings":["a",""]"#) && text.contains(#""loose":[8,9,7]"#), "\(text)")
    }

    @Test func `Of a oneof the last member counts, of a scalar the last value, and parts of a message are one`() throws {
        let oneof = try json([0x92, 2, 1, 0x78, 0x98, 2, 5], "Everything", bare: true)
        #expect(oneof.contains(#""text":null,"number":5"#))
        #expect(try json([0x18, 1, 0x18, 2], "Everything", bare: true).contains(#""an_int32":2"#))
        let parts = try json([0x92, 1, 2, 0x18, 1, 0x92, 1, 3, 0x72, 1, 0x61], "Everything", bare: true)
        #expect(parts.contains(#""a_child":{"a_double":0,"a_float":0,"an_int32":1"#) && parts.contains(#""a_string":"a""#))
    }

    @Test func `Maps are objects, and a key that comes twice has its last value`() throws {
        let wire: [UInt8] = [
            0xF2, 1, 5, 0x0A, 1, 0x61, 0x10, 1, 0xF2, 1, 2, 0x10, 2, 0xF2, 1, 5, 0x0A, 1, 0x61, 0x10, 3, 0x82, 2, 5, 8, 1, 0x12,
            1, 0x78,
            0xFA, 1, 2, 8, 9,
        ]
        let text = try json(wire, "Everything", bare: true)
        #expect(text.contains(#""counts":{"a":3,"":2}"#) && text.contains(#""by_bool":{"true":"x"}"#), "\(text)")
        #expect(text.contains(#""by_number":{"9":{"a_double":0"#))
    }

    @Test(arguments: [
        [0x0A], [0x0A, 5, 0x61], [0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F], [0x0A, 1, 0xFF], [0], [0x0B],
        [0x0C],
        [0x0E, 1], [0x22, 1, 0x0A], [0x80], [0x18, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1], [0x4D, 1],
    ]) func `Bytes that are not the message are an error`(wire: [Int]) {
        #expect(throws: ReplyError.self) { try json(wire.map { UInt8($0) }) }
    }

    @Test func `Nesting is bounded`() throws {
        var wire: [UInt8] = []
        for _ in 0..<80 {
            var length: [UInt8] = []
            var rest = wire.count
            repeat {
                length.append(UInt8(rest & 0x7F) | (rest > 0x7F ? 0x80 : 0))
                rest >>= 7
            } while rest > 0
            wire = [0x92, 1] + length + wire
        }
        #expect(throws: ReplyError.self) { try json(wire, "Everything", bare: true) }
    }

    @Test func `A body reply is its bytes and media type with a status, a blob, or a redirect`() throws {
        let (route, _) = try Fixture.route("GET", "/api/menu.pdf")
        #expect(
            try route.reply.transcode([0x0A, 2, 0x68, 0x69], requestID: "") == .raw([0x68, 0x69], contentType: "application/pdf")
        )
        #expect(try route.reply.transcode([0x12, 1, 0x78], requestID: "") == .raw([], contentType: "x"))
        #expect(try route.reply.transcode([0x1A, 2, 0x2F, 0x61, 0x0A, 1, 0x78], requestID: "") == .redirect("/a"))
        #expect(try route.reply.transcode([0x22, 3, 0x61, 0x2F, 0x62, 0x0A, 1, 0x78], requestID: "") == .blob("a/b"))
        let gone = try route.reply.transcode([0x0A, 1, 0x78, 0x28, 0x9A, 0x03], requestID: "")
        #expect(gone == .raw([0x78], contentType: "application/pdf", status: 410))
    }

    @Test func `A failure has PF-1's envelope and PF-2's status`() {
        let error = ServiceError.validation([.init(field: "a\"b", message: "must\nbe")])
        #expect(
            ErrorEnvelope.json(error, requestID: "r").text
                == #"{"success":false,"error":{"code":"VALIDATION_ERROR","reason":"VALIDATION_ERROR","message":"The request has invalid fields.","#
                + #""details":[{"field":"a\"b","message":"must\nbe"}]},"meta":{"request_id":"r"}}"#
        )
        #expect(
            ServiceError.Code.allCases.map(ErrorEnvelope.httpStatus) == [
                499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401,
            ]
        )
    }
}
