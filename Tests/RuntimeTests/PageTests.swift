import Bus
import Kernel
import Testing
import Wire

@testable import Runtime
@testable import ServiceRuntime

/// A list's request for tests: its bytes are its filter.
private struct ListNotes: PagedRequest {
    static let fullName = "test.v1.ListNotes"
    static let pageSize = PageSize(standard: 3, most: 5)
    var filter = ""
    var limit: Int32 = 0
    var cursor = ""
    var page: Int32?
    var withoutPlace: ListNotes { ListNotes(filter: filter) }

    init(filter: String = "", limit: Int32 = 0, cursor: String = "", page: Int32? = nil) {
        (self.filter, self.limit, self.cursor, self.page) = (filter, limit, cursor, page)
    }

    init(serialized bytes: UnsafeRawBufferPointer) throws { filter = String(decoding: bytes, as: UTF8.self) }
    func serialized() throws -> [UInt8] { Array("\(filter) \(limit) \(cursor) \(page ?? 0)".utf8) }
    func collectViolations(into violations: inout Violations, path: FieldPath) {}
}

private struct EmptyRequest: Message {
    static let fullName = "test.v1.Empty"
    init() {}
    init(serialized bytes: UnsafeRawBufferPointer) throws {}
    func serialized() throws -> [UInt8] { [] }
    func collectViolations(into violations: inout Violations, path: FieldPath) {}
}

/// Pages of lists (PF-3).
struct PageTests {
    private static let ann = UserID(high: 1, low: 1)
    private static let ben = UserID(high: 1, low: 2)

    private func page(_ request: ListNotes, of user: UserID = ann) throws -> Page<PageCursor> {
        try Page(request, CallContext(principal: Principal(userID: user, role: .user)))
    }

    private func entries(_ page: Page<PageCursor>, of all: [Int64]) -> (rows: [Int64], meta: String?) {
        let after = page.position.map { position in all.drop { $0 <= position.instant.microseconds } } ?? all[...]
        let rows = Array(after.dropFirst(page.skipped).prefix(page.limit + 1))
        let (shown, meta) = page.entries(rows) { PageCursor(after: Instant(microseconds: $0), UserID(high: 0, low: 0)) }
        return (shown, meta.nextCursor)
    }

    private func refused(_ body: () throws -> Page<PageCursor>) -> [String] {
        do {
            _ = try body()
            return []
        } catch let error as ServiceError { return error.details.map(\.field) + [error.reason] } catch { return ["\(error)"] }
    }

    @Test func `the size is what was asked for, within the list's bounds`() throws {
        #expect(try [0, 1, 5, 6, .max].map { try page(ListNotes(limit: $0)).limit } == [3, 1, 5, 5, 5])
    }

    @Test(arguments: 0...12) func `every entry comes once, page by page, and the end has no cursor`(count: Int64) throws {
        let all = (0..<count).map { $0 + 1 }
        var (found, cursor, pages): ([Int64], String?, Int) = ([], "", 0)
        while let place = cursor {
            let (rows, next) = entries(try page(ListNotes(cursor: place)), of: all)
            found += rows
            (cursor, pages) = (next, pages + 1)
            #expect(next == nil || rows.count == 3)
        }
        #expect(found == all && pages == max(1, (Int(count) + 2) / 3))
    }

    @Test func `a cursor works with another size, and not for another user, filter or list`() throws {
        let all: [Int64] = Array(1...9)
        let cursor = try #require(entries(try page(ListNotes(filter: "new")), of: all).meta)
        #expect(entries(try page(ListNotes(filter: "new", limit: 5, cursor: cursor)), of: all).rows == [4, 5, 6, 7, 8])
        let foreign = ["cursor", "VALIDATION_ERROR"]
        #expect(refused { try page(ListNotes(filter: "new", cursor: cursor), of: Self.ben) } == foreign)
        #expect(refused { try page(ListNotes(filter: "old", cursor: cursor)) } == foreign)
        let other = CursorScope("test.v1.Other", of: Self.ann).text(after: PageCursor(after: .epoch, Self.ann))
        #expect(refused { try page(ListNotes(filter: "new", cursor: other)) } == foreign)
    }

    @Test func `a page may be named by its number, but not with a cursor`() throws {
        #expect(entries(try page(ListNotes(limit: 4, page: 2)), of: Array(1...9)).rows == [5, 6, 7, 8])
        #expect(refused { try page(ListNotes(cursor: "x", page: 2)).self } == ["cursor", "VALIDATION_ERROR"])
        let cursor = try #require(entries(try page(ListNotes()), of: Array(1...9)).meta)
        #expect(refused { try page(ListNotes(cursor: cursor, page: 2)) } == ["page", "VALIDATION_ERROR"])
    }

    @Test func `what is no cursor is known without the list, and so is a page beside one`() throws {
        func problems(_ request: ListNotes) -> [String] { request.placeProblems.map { "\($0.field) \($0.message)" } }
        let cursor = try #require(entries(try page(ListNotes()), of: Array(1...9)).meta)
        #expect(problems(ListNotes()) == [] && problems(ListNotes(page: 2)) == [] && problems(ListNotes(cursor: cursor)) == [])
        let other = CursorScope("test.v1.Other", of: Self.ann).text(after: PageCursor(after: .epoch, Self.ann))
        #expect(problems(ListNotes(cursor: other)) == [], "whose it is, the list says")
        let foreign = "cursor is not one this list has given out"
        for text in ["x", "2", String(cursor.dropLast(40)), cursor + "!", String(repeating: "A", count: 204)] {
            #expect(problems(ListNotes(cursor: text)) == [foreign], "\(text)")
        }
        #expect(problems(ListNotes(cursor: cursor, page: 2)) == ["page cannot be combined with cursor"])
        #expect(problems(ListNotes(cursor: "x", page: 2)) == [foreign, "page cannot be combined with cursor"])
    }

    @Test func `a handler of lists says what is wrong with the place, one of its own nothing`() {
        struct Plain: QueryHandler {
            func handle(_ request: EmptyRequest, _: CallContext) async throws -> EmptyRequest { request }
        }
        struct Lists: QueryHandler {
            func handle(_ request: ListNotes, _: CallContext) async throws -> ListNotes { request }
        }
        func asked<Request>(_ handler: some QueryHandler<Request, Request>, _ request: Request) -> [String] {
            handler.problems(of: request).map(\.field)
        }
        #expect(asked(Plain(), EmptyRequest()) == [])
        #expect(asked(Lists(), ListNotes(cursor: "x")) == ["cursor"])
    }

    @Test func `a list is its reader's own`() {
        #expect(refused { try Page(ListNotes(), CallContext()) } == ["UNAUTHENTICATED"])
    }
}
