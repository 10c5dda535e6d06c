import Foundation
import Kernel
import Testing
import Transcoding

@Suite("A package of several services")
struct PackageTests {
    private func routes() throws -> [Route] {
        let table = RouteTable()
        #expect(table.install(try DescriptorSet(serialized: Fixture.bytes("shelf.binpb")), service: "shelf").isEmpty)
        return table.routes
    }

    /// Members of an object of the page by their names, one below the other.
    private func page(_ path: String..., today: CalendarDate = Fixture.day) throws -> Any? {
        let document = OpenAPI.document(try routes(), title: "Shelf", version: "1", developmentClock: false, today: today)
        let page = try JSONSerialization.jsonObject(with: Data(document))
        return path.reduce(page as Any?) { value, name in (value as? [String: Any])?[name] }
    }

    private func parameters(_ path: String) throws -> [String: [String: Any]] {
        let list = try page("paths", path, "get", "parameters") as? [[String: Any]] ?? []
        return Dictionary(uniqueKeysWithValues: list.map { ($0["name"] as? String ?? "", $0) })
    }

    @Test func `has one name on the bus and one tag on the page`() throws {
        let subjects = [
            "rpc.shelf.v1.ListJars", "rpc.shelf.v1.ListLids", "rpc.shelf.v1.GetBook", "rpc.shelf.v1.SendLetter",
            "rpc.shelf.v1.ChangeLetter",
        ]
        #expect(try Set(routes().map(\.subject)) == Set(subjects))
        #expect(try page("paths", "/api/jars", "get", "operationId") as? String == "shelfListJars")
        #expect(try page("paths", "/api/books/{book_id}", "get", "operationId") as? String == "shelfGetBook")
        let tags = try page("tags") as? [[String: String]] ?? []
        #expect(tags.first == ["name": "shelf", "description": "Holds jars. Holds books. Takes letters."])
    }

    @Test func `has each method once`() throws {
        let (old, new) = (Array("FindBook".utf8), Array("ListJars".utf8))
        var bytes = try Fixture.bytes("shelf.binpb")
        let starts = bytes.indices.dropLast(old.count).filter { Array(bytes[$0..<($0 + old.count)]) == old }
        try #require(starts.count == 1, "the method's name and nothing else")
        for start in starts { bytes.replaceSubrange(start..<(start + old.count), with: new) }
        let error = #expect(throws: DescriptorError.self) { try DescriptorSet(serialized: bytes) }
        #expect(error.map { "\($0)" } == "streaksnap.shelf.v1.Books.ListJars: is declared twice")
    }

    @Test func `says the form of ids and dates where they are sent`() throws {
        let book = try parameters("/api/books/{book_id}")["book_id"]?["schema"] as? [String: Any]
        #expect(book?["format"] as? String == "uuid")
        let filled = try parameters("/api/jars")["filled_on"]?["schema"] as? [String: Any]
        #expect(filled?["format"] as? String == "date")
        for name in ["book_id", "bought_on"] {
            let answered = try page("components", "schemas", "ShelfBook", "properties", name) as? [String: Any]
            #expect(answered?["type"] as? String == "string" && answered?["format"] == nil, "\(name)")
        }
    }

    @Test func `shows dates around the day on which the page is made`() throws {
        for (days, filled, bought) in [(0, "2026-01-09", "2025-12-03"), (60, "2026-03-10", "2026-02-01")] {
            let day = Fixture.day.advanced(by: days)
            let list = try page("paths", "/api/jars", "get", "parameters", today: day) as? [[String: Any]] ?? []
            #expect(list.first { $0["name"] as? String == "filled_on" }?["example"] as? String == filled)
            let path = [
                "paths", "/api/books/{book_id}", "get", "responses", "200", "content", "application/json", "example", "data",
            ]
            let book = try path.reduce(page(today: day)) { value, name in (value as? [String: Any])?[name] }
            #expect((book as? [String: Any])?["bought_on"] as? String == bought)
        }
    }

    @Test func `says the size of a list's pages, which its option declares`() throws {
        #expect(try parameters("/api/jars")["limit"]?["description"] as? String == "20 when absent; above 50 is taken as 50.")
        let book = try parameters("/api/books/{book_id}")["limit"]?["description"] as? String
        #expect(book == "Pages of the book: 9 when absent, and at most.")
        let lids = try parameters("/api/lids")["limit"]?["description"] as? String
        #expect(lids == "Lids on a page: 20 when absent; above 50 is taken as 50.", "its comment has said so")
    }

    @Test func `shows what handlers check themselves`() throws {
        let letter = try page("components", "schemas", "ShelfChangeLetterRequest")
        let fields = try #require((letter as? [String: Any])?["properties"] as? [String: [String: Any]])
        #expect(fields["time"]?["pattern"] as? String == "^[0-2][0-9]:[0-5][0-9]$")
        #expect((fields["pages"]?["enum"] as? [Any])?.compactMap { $0 as? Int } == [1, 2], "null is none of them")
        #expect(fields["name"]?["type"] as? String == "string" && fields["name"]?["minLength"] as? Int == 1)
        #expect((letter as? [String: Any])?["required"] as? [String] == ["name"])
        #expect(fields["zone"]?["minLength"] as? Int == 1, "a time zone has no pattern, and is not empty")
    }

    @Test func `describes a form by its members, and no JSON where that has no file`() throws {
        let content = try page("paths", "/api/letters", "post", "requestBody", "content") as? [String: [String: Any]]
        #expect(content?.keys.sorted() == ["multipart/form-data"])
        let form = try #require(content?["multipart/form-data"]?["schema"] as? [String: Any])
        let names = ["place.floor", "place.shelf_id", "scan", "sent_on", "weight"]
        #expect((form["properties"] as? [String: Any])?.keys.sorted() == names)
        #expect(form["required"] as? [String] == ["scan", "weight"], "a place is not, so its shelf is not")
        #expect(form["additionalProperties"] as? Bool == false)
    }

    @Test func `takes an empty text where there is no form, and refuses it where there is one`() throws {
        let set = try DescriptorSet(serialized: Fixture.bytes("shelf.binpb"))
        let letter = try #require(RequestTranscoder(set, message: "streaksnap.shelf.v1.ChangeLetterRequest"))
        let wrong = "must not be empty; leave it out instead"
        #expect(
            refusal { try letter.transcode(body: Array(#"{"book_id":"","sent_on":"","zone":"","pages":1}"#.utf8)) }
                == ["book_id: \(wrong)", "sent_on: \(wrong)", "zone: \(wrong)"]
        )
        // The service says that it is required.
        #expect(
            try letter.transcode(body: Array(#"{"text":"","time":"","place":{"shelf_id":""}}"#.utf8)).hex
                == "22002a004200"
        )
        #expect(try letter.transcode(body: Array(#"{"book_id":null,"sent_on":null}"#.utf8)).isEmpty)
        let routes = try routes()
        let list = try #require(routes.first { $0.method == "ListJars" })
        #expect(refusal { try list.request.transcode(body: [], query: "filled_on=") } == ["filled_on: \(wrong)"])
        #expect(try list.request.transcode(body: [], query: "cursor=").isEmpty)
        let send = try #require(routes.first { $0.method == "SendLetter" })
        #expect(refusal { try send.request.read(form: [("sent_on", [])], blob: nil).request() } == ["sent_on: \(wrong)"])
    }
}
