import Foundation
import Kernel
import Testing
import Transcoding

@Suite("Routes of several versions of a service")
struct UnionTests {
    private func table(_ versions: HandmadeDescriptor...) throws -> (table: RouteTable, refused: [RouteRefusal]) {
        let table = RouteTable()
        let sets = try versions.map { try DescriptorSet(serialized: $0.bytes) }
        let refused = table.replace(with: [.init(name: "roll", sets: sets)])
        return (table, refused["roll"] ?? [])
    }

    private func version(_ methods: HandmadeDescriptor.Method..., fields: [String] = ["text"], words: String = "")
        -> HandmadeDescriptor
    {
        HandmadeDescriptor(service: "roll", methods: methods, messages: [.init(fields: fields, comment: words)])
    }

    private func routes(_ table: RouteTable) -> [String] {
        table.routes.map { "\($0.verb) \($0.template) \($0.method) \($0.policy.auth)" }
    }

    @Test func `a path that only the older version has goes to the newer one's method`() throws {
        let (table, refused) = try table(
            version(.init(name: "Get", path: "/api/new/{title}"), fields: ["text", "title"]),
            version(.init(name: "Get", path: "/api/old/{text}"))
        )
        #expect(routes(table) == ["GET /api/new/{title} Get none", "GET /api/old/{text} Get none"])
        #expect(refused.isEmpty)
        guard case .found(let route, let path) = table.match(method: "GET", path: "/api/old/x") else {
            Issue.record("no route")
            return
        }
        // The newer version's message has the title too.
        #expect(try route.request.transcode(body: [], path: path, query: "title=t") == [10, 1, 120, 18, 1, 116])
    }

    @Test func `who may call a method is as the newer version says, on every path`() throws {
        let (table, _) = try table(
            version(.init(name: "Get", path: "/api/new", auth: 4), .init(name: "Hide", path: "/api/hidden", auth: 6)),
            version(
                .init(name: "Get", path: "/api/old", auth: 1),
                .init(name: "Hide", path: "/api/hide", auth: 1)
            )
        )
        #expect(routes(table) == ["GET /api/new Get admin", "GET /api/old Get admin"])
    }

    @Test func `a path whose variable the newer version has dropped keeps the older message and the newer rights`() throws {
        let (table, refused) = try table(
            version(.init(name: "Get", path: "/api/new", auth: 4)),
            version(.init(name: "Get", path: "/api/old/{title}", auth: 1), fields: ["text", "title"])
        )
        #expect(routes(table) == ["GET /api/new Get admin", "GET /api/old/{title} Get admin"])
        #expect(refused.isEmpty)
    }

    @Test func `a path that both have is the newer version's, and that is no refusal`() throws {
        let (table, refused) = try table(
            version(.init(name: "Second", path: "/api/items/{text}")),
            version(.init(name: "First", path: "/api/items/{text}"))
        )
        #expect(routes(table) == ["GET /api/items/{text} Second none"])
        #expect(refused.isEmpty)
    }

    @Test func `a message is described as the newer version says, also where only the older one's route has it`() throws {
        let (table, _) = try table(
            version(.init(name: "Get", path: "/api/new"), words: "New words."),
            version(.init(name: "Gone", path: "/api/gone"), words: "Old words.")
        )
        let page = String(
            decoding: OpenAPI.document(table.routes, title: "T", version: "1", today: CalendarDate(dayNumber: 20_455)),
            as: UTF8.self
        )
        #expect(page.contains("/api/gone") && page.contains("/api/new"))
        #expect(page.contains("New words.") && !page.contains("Old words."))
    }

    @Test func `a path of an earlier service is refused to every version of a later one, and reported once`() throws {
        let versions = [
            version(.init(name: "Get", path: "/api/a"), .init(name: "More", path: "/api/b")),
            version(.init(name: "Get", path: "/api/a")),
        ]
        let owner = HandmadeDescriptor(service: "first", methods: [.init(name: "Own", path: "/api/a")])
        let table = RouteTable()
        let refused = table.replace(with: [
            .init(name: "first", sets: [try DescriptorSet(serialized: owner.bytes)]),
            .init(name: "roll", sets: try versions.map { try DescriptorSet(serialized: $0.bytes) }),
        ])
        #expect(routes(table) == ["GET /api/a Own none", "GET /api/b More none"])
        #expect(refused["roll"]?.map(\.reason) == ["the path is taken by streaksnap.first.v1.Roll.Own"])
    }
}
