@_spi(Once) import Bus
import CommonAPI
import Foundation
import Kernel
import Processes
import Testing
import TestingAPI
import Wire

@Suite struct GeneratedModuleTests {
    @Test func `methods carry their policy`() {
        #expect(TestingMethods.echo.service == "testing")
        #expect(TestingMethods.echo.version == "v1")
        #expect(TestingMethods.echo.name == "Echo")
        #expect(TestingMethods.echo.isIdempotent)
        #expect(TestingMethods.echo.timeout == .milliseconds(1_500))
        #expect(!TestingMethods.check.isIdempotent)
        #expect(TestingMethods.check.timeout == .seconds(10))
        #expect(TestingMethods.list.timeout == .seconds(3))
    }

    @Test func `every method has an endpoint`() {
        let endpoints = TestingService.endpoints(echo: Echo(), check: Check(), list: List())
        #expect(endpoints.map(\.name) == ["Echo", "Check", "List"])
    }

    @Test func `an endpoint answers with its handler's reply`() async throws {
        let endpoints = TestingService.endpoints(echo: Echo(), check: Check(), list: List())
        let everything = Everything(aString: "said")
        let echoed = try await endpoints[0].handle(everything.serialized(), CallContext())
        #expect(try Everything(serialized: echoed) == everything)
        let listed = try await endpoints[2].handle(Tree(name: "oak").serialized(), CallContext())
        #expect(try TenFields(serialized: listed).name == "oak")
    }

    @Test func `the request of a list knows its pages`() {
        #expect(ListThingsRequest.pageSize == PageSize(standard: 20, most: 50))
        #expect([0, -1, 7, 50, 51].map { ListThingsRequest.pageSize.entries(asked: $0) } == [20, 20, 7, 50, 50])
        let request = ListThingsRequest(kind: "k", limit: 7, cursor: "c", page: 3)
        #expect(request.withoutPlace == ListThingsRequest(kind: "k"))
        let more = ListMoreThingsRequest(limit: 1, cursor: "c")
        #expect(more.page == nil && more.withoutPlace == ListMoreThingsRequest())
    }

    @Test func `events know their subject and aggregate`() {
        let event = ThingHappened(thingID: "t-1")
        #expect(ThingHappened.subject == "evt.testing.v1.ThingHappened")
        #expect(event.aggregateID == "t-1")
        #expect(ThingHappened.fullName == "streaksnap.testing.v1.ThingHappened")
    }

    @Test func `enums have the names of the public API`() {
        #expect(Color.allCases.map(\.name) == ["unspecified", "red", "dark_blue", "green", "default"])
        #expect(Color(name: "dark_blue") == .darkBlue)
        #expect(Color(name: "pink") == nil)
        #expect(Color.unrecognized(9).name == "9")
        #expect(Color(rawValue: 9) == .unrecognized(9))
        #expect(Everything.Inner.Kind(rawValue: -7) == .negative)
    }

    @Test func `the descriptor set holds the package its imports and comments`() throws {
        let set = TestingDescriptor.bytes
        var names: [String] = []
        var files = WireFields(set)
        while let file = try files.next() {
            guard case .bytes(let bytes) = file.value else { continue }
            var fields = WireFields(bytes)
            while let field = try fields.next() {
                if field.number == 1, case .bytes(let name) = field.value { names.append(String(decoding: name, as: UTF8.self)) }
            }
        }
        #expect(
            Set(names) == [
                "google/protobuf/timestamp.proto", "google/protobuf/descriptor.proto", "google/api/http.proto",
                "google/api/annotations.proto", "streaksnap/options/v1/options.proto", "streaksnap/common/v1/common.proto",
                "streaksnap/testing/v1/testing.proto", "streaksnap/testing/v1/visitor.proto",
            ]
        )
        // A file comes after those it imports, the package's own last.
        #expect(names.last == "streaksnap/testing/v1/visitor.proto")
        #expect(String(decoding: set, as: UTF8.self).contains("Gives back what it was given."))
    }

    @Test func `the hash is that of the descriptor set`() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("streaksnap-\(UUID().uuidString).pb")
        try Data(TestingDescriptor.bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let sum = try await run("sha256sum", [file.path])
        #expect(sum.text.prefix(64) == TestingDescriptor.hash)
    }
}

private struct Echo: QueryHandler {
    func handle(_ request: Everything, _: CallContext) async throws -> Everything { request }
}

private struct Check: MutationHandler {
    func handle(_: Ruled, _: CallContext) async throws -> Once<Empty> { Once(Empty()) }
}

private struct List: MutationHandler {
    func handle(_ request: Tree, _: CallContext) async throws -> Once<TenFields> { Once(TenFields(name: request.name)) }
}
