import Testing
import Transcoding

@Suite("Routes come from descriptors")
struct RouteTests {
    private func found(_ table: RouteTable, _ method: String, _ path: String) -> String {
        switch table.match(method: method, path: path) {
        case .found(let route, let values):
            return ([route.subject] + values.values.map(\.text)).joined(separator: " ")
        case .methodNotAllowed(let allow): return "405 " + allow.joined(separator: ",")
        case .notFound: return "404"
        case .malformed: return "400"
        }
    }

    @Test(arguments: [
        ("GET", "/api/dishes/all", "rpc.kitchen.v1.ListDishes"), ("GET", "/api/dishes/x", "rpc.kitchen.v1.GetDish x"),
        ("HEAD", "/api/dishes/x", "rpc.kitchen.v1.GetDish x"), ("PATCH", "/api/dishes/all", "405 GET,HEAD"),
        ("GET", "/api/dishes/%61ll", "rpc.kitchen.v1.ListDishes"), ("GET", "/api/dishes/a%20b", "rpc.kitchen.v1.GetDish a b"),
        ("POST", "/api/dishes/photo", "rpc.kitchen.v1.Photograph"),
        ("POST", "/api/dishes/x/pepper", "rpc.kitchen.v1.Season x pepper"),
        ("GET", "/api/files/plates", "rpc.kitchen.v1.GetDish plates"),
        ("GET", "/api/files/plates/a/b", "rpc.kitchen.v1.GetDish plates/a/b"),
        ("GET", "/api/dishes/", "404"), ("GET", "/api/dishes", "404"), ("GET", "/api/dishes/x/", "404"),
        ("GET", "//api/dishes/x", "404"),
        ("GET", "/api/dishes/x/y/z", "404"), ("GET", "", "404"), ("GET", "api", "404"), ("GET", "/api/hidden", "404"),
        ("GET", "/api/files/bowls", "404"), ("DELETE", "/api/dishes/x", "405 GET,HEAD,PATCH"),
        ("POST", "/api/dishes/x", "405 GET,HEAD,PATCH"),
        ("DELETE", "/api/dishes/all", "405 GET,HEAD"), ("GET", "/api/kitchen/cook", "405 POST"),
        ("GET", "/api/dishes/%zz", "400"),
        ("GET", "/api/dishes/%", "400"), ("BREW", "/api/bare", "405 GET,HEAD"),
    ]) func `Literals beat variables whatever the verb, and 404 differs from 405`(method: String, path: String, expected: String)
        throws
    {
        #expect(found(try Fixture.routes(), method, path) == expected)
    }

    @Test func `a success is 202 where the field of the reply is set that says so`() throws {
        let routes = try Fixture.routes().routes
        let season = try #require(routes.first { $0.method == "Season" })
        let (name, note): ([UInt8], [UInt8]) = ([0x0A, 1, 0x64], [0x2A, 1, 0x61])
        let replies: [([UInt8], Int)] = [
            ([], 200), (name, 200), (note, 202), (name + note, 202), ([0x2A, 0], 202), ([0x2A], 200),
        ]
        for (reply, status) in replies {
            #expect(season.status(of: reply) == status, "\(reply)")
        }
        let cook = try #require(routes.first { $0.method == "Cook" })
        #expect(cook.status(of: name) == 201 && cook.status(of: note) == 201)
    }

    @Test func `A route says who may call it and within which bounds`() throws {
        let routes = try Fixture.routes().routes
        func policy(_ method: String) throws -> MethodPolicy { try #require(routes.first { $0.method == method }).policy }
        let cook = try policy("Cook")
        #expect(cook.auth == .user && cook.successStatus == 201 && cook.timeoutMilliseconds == 500 && !cook.idempotent)
        let get = try policy("GetDish")
        #expect(get.auth == .none && get.idempotent && get.timeoutMilliseconds == 10_000 && get.successStatus == 200)
        #expect(try policy("ListDishes").auth == .guest)
        let upload = try #require(try policy("Photograph").uploads.first)
        #expect(upload.part == "photo" && upload.field == "photo" && upload.maxBytes == 1_000)
        #expect(try policy("Watch").stream?.subject == "live.kitchen.{user_id}")
        let watch = try #require(routes.first { $0.method == "Watch" })
        #expect(watch.liveSubject(of: "u-1") == "live.kitchen.u-1" && watch.renewal == "rpc.kitchen.v1.KeepWatching")
        let deliver = try policy("Deliver")
        #expect(deliver.unlimited && deliver.raw?.maxBytes == 1_000 && deliver.raw?.field == "content")
        #expect(deliver.raw?.headers.map { "\($0.name)=\($0.field)" } == ["x-signature=signature"])
        #expect(try policy("Bare").bare)
        let menu = try #require(try policy("Menu").body)
        #expect(menu.redirectField == "url" && menu.blobField == "blob" && menu.statusField == "status")
        #expect(menu.headers.map { "\($0.name)=\($0.value)" } == ["Cache-Control=public, max-age=60", "X-Menu=of the day"])
        #expect(!routes.contains { $0.method == "Hidden" })
    }

    @Test func `A service gets its own paths only, and what it does not get is reported`() throws {
        let table = try Fixture.routes()
        let refused = table.install(try Fixture.pantry(), service: "pantry").map { "\($0.route): \($0.reason)" }
        #expect(refused.contains("GET /api/dishes/{shelf}: the path is taken by streaksnap.kitchen.v1.Kitchen.GetDish"))
        #expect(refused.contains { $0.hasPrefix("GET /api/wrong/{nothing}: binds the path to nothing") })
        #expect(refused.contains { $0.hasPrefix("GET /api/wrong/{shelf: path template") })
        #expect(refused.contains { $0.hasPrefix("POST /api/wrong: takes its body into nothing") })
        #expect(refused.contains { $0.hasPrefix("GET /api/wrong/{jars}: binds the path to jars") })
        #expect(
            refused.contains {
                $0.hasPrefix("GET /api/label: answers with \"Set-Cookie: session=1\"") || $0.contains("Set-Cookie")
            }
        )
        #expect(refused.count == 6)
        #expect(found(table, "GET", "/api/dishes/x") == "rpc.kitchen.v1.GetDish x")
        #expect(found(table, "GET", "/api/pantry/x") == "rpc.pantry.v1.Stock x")
        #expect(found(table, "GET", "/api/pantry/stolen") == "rpc.pantry.v1.Steal")
    }

    @Test(arguments: [
        ("GET", "/api/dishes/x/", "GET /api/dishes/{dish_id}"), ("GET", "/api//dishes/all", "GET /api/dishes/all"),
        ("GET", "/api/dishes/all/", "GET /api/dishes/all"), ("PUT", "/api/dishs/x/season", "PUT /api/dishes/{dish_id}/season"),
        ("POST", "/kitchen/cook", "POST /api/kitchen/cook"), ("POST", "/api/Kitchen/Cook", "POST /api/kitchen/cook"),
        ("GET", "/api/kitchen/coook", "POST /api/kitchen/cook"), ("HEAD", "/api/dishes/all/", "GET /api/dishes/all"),
    ]) func `A path that has no route suggests the one that was probably meant`(verb: String, path: String, meant: String) throws
    {
        #expect(try Fixture.routes().suggestion(method: verb, path: path) == meant)
    }

    @Test(arguments: [
        ("POST", "/api/dishes/phtoo", "POST /api/dishes/photo"), ("GET", "/api/dishes/phtoo", nil),
        ("POST", "/api/dishes/42", nil),
        ("POST", "/api/dishes/photo", nil), ("HEAD", "/api/dihses/all", "GET /api/dishes/all"),
    ]) func `What stands for an id may be the slip of a word`(verb: String, path: String, meant: String?) throws {
        #expect(try Fixture.routes().suggestion(method: verb, path: path, isSlip: true) == meant)
    }

    @Test(arguments: ["/", "", "/api", "/api/nothing/of/this", "/api/kichn/coook", "/api/dishes/%zz", "/wp-login.php"])
    func `A path that is near to none suggests nothing`(path: String) throws {
        #expect(try Fixture.routes().suggestion(method: "GET", path: path) == nil)
    }

    @Test func `A descriptor of another package adds nothing`() throws {
        let table = RouteTable()
        let refused = table.install(try Fixture.kitchen(), service: "pantry")
        #expect(
            !refused.isEmpty && refused.allSatisfy { $0.reason.contains("may only add methods of the package streaksnap.pantry") }
        )
        #expect(table.routes.isEmpty)
    }

    @Test func `Services come, are replaced and go while the table is read`() async throws {
        let table = try Fixture.routes()
        let (kitchen, pantry) = (try Fixture.kitchen(), try Fixture.pantry())
        await withTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    (0..<300).filter { _ in self.found(table, "GET", "/api/dishes/x") != "rpc.kitchen.v1.GetDish x" }.count
                }
            }
            for round in 0..<10 {
                if round % 2 == 0 { table.install(pantry, service: "pantry") } else { table.remove(service: "pantry") }
                table.install(kitchen, service: "kitchen")
            }
            for await wrong in group { #expect(wrong == 0) }
        }
        table.remove(service: "kitchen")
        table.install(pantry, service: "pantry")
        #expect(found(table, "GET", "/api/dishes/x") == "rpc.pantry.v1.Steal x")
        // The pantry has a path of one variable now, and all words that could be its value with it.
        let taken = ["GET /api/dishes/{dish_id}", "GET /api/dishes/all", "POST /api/dishes/photo"]
        #expect(table.install(all: kitchen).map(\.route) == taken)
    }

    @Test func `Random paths get the answer of a plain search through all templates`() throws {
        let table = try Fixture.routes()
        table.install(try Fixture.pantry(), service: "pantry")
        let routes = table.routes
        var random = Seeded(state: 7)
        let words = [
            "api", "dishes", "all", "photo", "x", "season", "pepper", "menus", "files", "plates", "pantry", "stolen", "bare", "",
        ]
        let verbs = ["GET", "PUT", "POST", "PATCH", "DELETE"]
        var hits = 0
        for _ in 0..<20_000 {
            // A template's own path with some segments changed, so that near misses are frequent.
            let template = routes.randomElement(using: &random)?.template ?? ""
            let parts = shape(template).map { part in
                let change = Int.random(in: 0..<4, using: &random) == 0
                return change || part.hasPrefix("*") ? words.randomElement(using: &random) ?? "" : part
            }
            let verb = verbs.randomElement(using: &random) ?? "GET"
            // Of all templates that fit, the best one decides, whatever its verbs.
            let all = routes.filter { fits($0.template, parts) }
            let highest = all.map { rank($0.template) }.max()
            let fitting = all.filter { rank($0.template) == highest }
            let best = fitting.first { $0.verb == verb }
            let path = "/" + parts.joined(separator: "/")
            switch table.match(method: verb, path: path) {
            case .found(let route, _):
                hits += 1
                #expect(route.template == best?.template, "\(verb) \(path)")
            case .methodNotAllowed(let allow):
                #expect(best == nil && allow == RouteTable.allow(fitting.map(\.verb)), "\(verb) \(path)")
            case .notFound: #expect(fitting.isEmpty, "\(verb) \(path)")
            case .malformed: Issue.record("\(path) is well formed")
            }
        }
        #expect(hits > 1_000)
    }

    /// `{a=b/**}` without its braces, segment by segment: `*`, `**` or text.
    private func shape(_ template: String) -> [String] {
        template.dropFirst().split(separator: "/").map { part in
            let inner = part.replacing("{", with: "").replacing("}", with: "")
            if let equals = inner.firstIndex(of: "=") { return String(inner[inner.index(after: equals)...]) }
            return part.contains("{") ? "*" : String(inner)
        }
    }

    private func fits(_ template: String, _ parts: [String]) -> Bool {
        let shape = shape(template)
        let open = shape.last == "**"
        guard open ? parts.count >= shape.count - 1 : parts.count == shape.count else { return false }
        return zip(shape, parts).allSatisfy { $0 == "**" || ($0 == "*" ? !$1.isEmpty : $0 == $1) }
    }

    private func rank(_ template: String) -> String { shape(template).map { $0 == "**" ? "0" : $0 == "*" ? "1" : "2" }.joined() }
}
