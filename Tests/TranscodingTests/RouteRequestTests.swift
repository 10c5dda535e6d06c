import Kernel
import Testing
import Transcoding

@Suite("Path, query, body and form make one request")
struct RouteRequestTests {
    private func wire(_ method: String, _ path: String, query: String = "", body: String = "") throws -> String {
        let (route, values) = try Fixture.route(method, path)
        return try route.request.transcode(body: Array(body.utf8), path: values, query: query).hex
    }

    @Test func `Path variables go first and the query fills every other field`() throws {
        #expect(try wire("GET", "/api/dishes/a%2Fb") == "0a03612f62")
        #expect(
            try wire("GET", "/api/dishes/x", query: "hot=true&sizes=1&sizes=300&spice=pepper") == "0a017820011a0301ac022801"
        )
        #expect(
            try wire("GET", "/api/dishes/x", query: "place.id=a+b%21&place.floor=2&place.tags=t&since=1970-01-01T00:00:01Z")
                == "0a0178" + "12" + "0b" + "0a04612062211802120174" + "32020801"
        )
        #expect(try wire("GET", "/api/dishes/x", query: "") == "0a0178")
        #expect(try wire("GET", "/api/dishes/x", query: "&&name=") == "0a01784200")
    }

    @Test func `Nested variables, multi-segment variables and bound literals reach their fields`() throws {
        #expect(try wire("GET", "/api/menus/m/dishes/d") == "12030a016d0a0164")
        #expect(try wire("GET", "/api/files/plates/a/b%20c") == "0a0c706c617465732f612f622063")
        #expect(try wire("POST", "/api/dishes/d/pepper") == "0a01641001")
    }

    @Test func `A body of * takes what the path leaves, and no query`() throws {
        #expect(try wire("PUT", "/api/dishes/d/season", body: #"{"grams":3}"#) == "18030a0164")
        #expect(
            refusal { try wire("PUT", "/api/dishes/d/season", query: "grams=1", body: "{}") }
                == ["grams: is not a known parameter: this route takes its fields from the body"]
        )
        #expect(
            refusal { try wire("PUT", "/api/dishes/d/season", body: #"{"dish_id":"e"}"#) } == [
                "dish_id: is not taken from the body on this route"
            ]
        )
    }

    @Test func `A body of one field leaves the rest to the query`() throws {
        #expect(try wire("PATCH", "/api/dishes/d", query: "grams=7", body: #"{"id":"p"}"#) == "22030a01700a01641807")
        #expect(
            refusal { try wire("PATCH", "/api/dishes/d", query: "place.id=x", body: "{}") } == ["place.id: is given by the body"]
        )
        #expect(refusal { try wire("PATCH", "/api/dishes/d", body: #"{"id":1}"#) } == ["place.id: must be a string"])
    }

    @Test func `Of a oneof one member is given, wherever it comes from`() throws {
        #expect(try wire("POST", "/api/find/x", body: #"{"hot":true}"#) == "2001420178")
        #expect(
            refusal { try wire("POST", "/api/find/x", body: #"{"rank":1}"#) }
                == ["rank: cannot be given together with another of: name, rank"]
        )
        #expect(try wire("PUT", "/api/find", query: "rank=1") == "4801")
        #expect(try wire("PUT", "/api/find", query: "hot=true", body: #""x""#) == "4201782001")
        #expect(
            refusal { try wire("PUT", "/api/find", query: "rank=1", body: #""x""#) } == [
                "rank: cannot be given together with name"
            ]
        )
    }

    @Test func `The key of an uploaded file cannot be given by the client`() throws {
        #expect(
            refusal { try wire("POST", "/api/dishes/photo", body: #"{"photo":{"key":"incoming/other"}}"#) }
                == ["photo: is a file: send it in a form (multipart/form-data)"]
        )
        let (route, _) = try Fixture.route("POST", "/api/dishes/photo")
        #expect(refusal { try route.request.read(form: [(name: "photo.key", value: [0x61])], blob: nil).request() }.count == 1)
    }

    @Test func `What is wrong is named in the order of the request's fields, what is about none of them last`() throws {
        let (route, _) = try Fixture.route("GET", "/api/dishes/x")
        let found = ["nonesuch", "rank", "place.tags[1]", "sizes[1]", "sizes[0]", "", "dish_id", "place.id", "rank"]
        let ordered = route.inOrder(found.map { .init(field: $0, message: "is wrong") })
        #expect(
            ordered.map(\.field) == ["dish_id", "place.tags[1]", "place.id", "sizes[1]", "sizes[0]", "rank", "nonesuch", ""]
        )
    }

    @Test func `A route without a body takes nothing or an empty object`() throws {
        #expect(try wire("POST", "/api/dishes/d/pepper", body: "{}") == "0a01641001")
        #expect(
            refusal { try wire("POST", "/api/dishes/d/pepper", body: #"{"grams":1}"#) }
                == ["grams: is not taken from the body on this route"]
        )
    }

    @Test(arguments: [
        ("nope=1&zip=2", ["nope: is not a known parameter", "zip: is not a known parameter"]),
        (
            "size[]=1&rnak=1",
            ["size[]: is not a known parameter: did you mean sizes?", "rnak: is not a known parameter: did you mean rank?"]
        ),
        // The path gives the dish: that is no name to send here.
        ("dish=1", ["dish: is not a known parameter"]), ("dish_id=1", ["dish_id: is given by the path"]),
        ("place=1", ["place: is an object; name one of its fields"]),
        ("place.x=1", ["place.x: is not a known parameter"]), ("hot=maybe", ["hot: must be true or false"]),
        ("hot=true&hot=false", ["hot: is given twice"]),
        (
            "sizes=1&sizes=x",
            [
                "sizes[1]: must be a 32-bit integer"
            ]
        ), ("name=a&rank=1", ["rank: cannot be given together with name"]), ("name=%ff", ["name: must be valid UTF-8"]),
        ("name=a%00b", ["name: must not contain NUL"]), ("name=%zz", [": The query is not percent-encoded correctly."]),
        ("since=yesterday", ["since: must be an RFC 3339 time, 2026-01-02T03:04:05Z"]),
        (
            "name.x=1",
            [
                "name.x: is not a known parameter"
            ]
        ),
    ]) func `Every wrong parameter is named`(query: String, expected: [String]) {
        #expect(refusal { try wire("GET", "/api/dishes/x", query: query) } == expected)
    }

    @Test func `Form fields become typed, lists may repeat or use commas, and the blob fills its field`() throws {
        let (route, values) = try Fixture.route("POST", "/api/dishes/photo")
        func form(_ fields: [(String, String)], blob: BlobReference? = nil) throws -> String {
            try route.request.read(form: fields.map { (name: $0.0, value: Array($0.1.utf8)) }, blob: blob, path: values).request()
                .hex
        }
        let blob = BlobReference(key: "k", size: 300, sha256: "s", fileName: "", contentType: "t")
        #expect(try form([], blob: blob) == "0a0c0a016b10ac021a01732a0174")
        #expect(
            try form([("dish_ids", "a, b"), ("dish_ids", "c"), ("sizes", "1,2"), ("caption", "")])
                == "1201611201621201632a0201021a00"
        )
        #expect(try form([("sizes", "")]) == "")
        #expect(refusal { try form([("sizes", "1,x")]) } == ["sizes[1]: must be a 32-bit integer"])
        #expect(
            refusal { try form([("photo", "x"), ("what", "y")]) } == [
                "photo: is the uploaded file, not a text field", "what: is not a known field",
            ]
        )
        #expect(refusal { try form([("takenAt", "x")]) } == ["takenAt: is not a known field: did you mean taken_at?"])
        #expect(refusal { try form([("caption", "a"), ("caption", "b")]) } == ["caption: is given twice"])
        #expect(
            refusal { try route.request.read(form: Array(repeating: (name: "sizes", value: []), count: 501), blob: nil) }
                == [
                    ": The form has more than 500 fields."
                ]
        )
    }
}
