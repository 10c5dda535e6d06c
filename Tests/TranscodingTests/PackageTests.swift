import Foundation
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
    private func page(_ path: String...) throws -> Any? {
        let document = OpenAPI.document(try routes(), title: "Shelf", version: "1", developmentClock: false)
        let page = try JSONSerialization.jsonObject(with: Data(document))
        return path.reduce(page as Any?) { value, name in (value as? [String: Any])?[name] }
    }

    private func parameters(_ path: String) throws -> [String: [String: Any]] {
        let list = try page("paths", path, "get", "parameters") as? [[String: Any]] ?? []
        return Dictionary(uniqueKeysWithValues: list.map { ($0["name"] as? String ?? "", $0) })
    }

    @Test func `has one name on the bus and one tag on the page`() throws {
        let subjects = ["rpc.shelf.v1.ListJars", "rpc.shelf.v1.ListLids", "rpc.shelf.v1.GetBook"]
        #expect(try Set(routes().map(\.subject)) == Set(subjects))
        #expect(try page("paths", "/api/jars", "get", "operationId") as? String == "shelfListJars")
        #expect(try page("paths", "/api/books/{book_id}", "get", "operationId") as? String == "shelfGetBook")
        let tags = try page("tags") as? [[String: String]] ?? []
        #expect(tags.first == ["name": "shelf", "description": "Holds jars. Holds books."])
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

    @Test func `says the size of a list's pages, which its option declares`() throws {
        #expect(try parameters("/api/jars")["limit"]?["description"] as? String == "20 when absent; above 50 is taken as 50.")
        let book = try parameters("/api/books/{book_id}")["limit"]?["description"] as? String
        #expect(book == "Pages of the book: 9 when absent, and at most.")
        let lids = try parameters("/api/lids")["limit"]?["description"] as? String
        #expect(lids == "Lids on a page: 20 when absent; above 50 is taken as 50.", "its comment has said so")
    }
}
