import Foundation
import Testing
import Transcoding

@Suite("The OpenAPI page is made for client generators")
struct OpenAPITests {
    /// A part of the page.
    private struct Page {
        let value: Any?

        init(_ routes: [Route], developmentClock: Bool = false) throws {
            let document = OpenAPI.document(
                routes,
                title: "Kitchen",
                version: "1",
                developmentClock: developmentClock,
                today: Fixture.day
            )
            value = try JSONSerialization.jsonObject(with: Data(document))
        }

        init(value: Any?) { self.value = value }

        subscript(name: String) -> Page { Page(value: (value as? [String: Any])?[name]) }
        var names: [String] { ((value as? [String: Any])?.keys).map { $0.sorted() } ?? [] }
        var members: [(String, Page)] { names.map { ($0, self[$0]) } }
        var list: [Page] { (value as? [Any])?.map { Page(value: $0) } ?? [] }
        var texts: [String] { (value as? [Any])?.map { "\($0 is NSNull ? "null" : $0)" } ?? [] }
        var text: String? { value as? String }
        var isTrue: Bool { value as? Bool == true }
        var exists: Bool { value != nil }

        func operation(_ verb: String, _ path: String) -> Page { self["paths"][path][verb] }
        func schema(_ name: String) -> Page { self["components"]["schemas"][name] }

        /// Every object on the page.
        var objects: [Page] {
            if let members = value as? [String: Any] { return [self] + members.values.flatMap { Page(value: $0).objects } }
            return list.flatMap(\.objects)
        }
    }

    private func kitchen() throws -> Page { try Page(Fixture.routes().routes) }

    @Test func `It is valid by the published schema, and every example by its own`() async throws {
        let table = try Fixture.routes()
        table.install(try Fixture.pantry(), service: "pantry")
        for clock in [false, true] {
            let document = OpenAPI.document(
                table.routes,
                title: "Kitchen",
                version: "1",
                developmentClock: clock,
                today: Fixture.day
            )
            let result = try await Python.run([Python.checkOpenAPI], input: document)
            #expect(result.status == 0, "\(result.transcript.suffix(3_000))")
            let lines = result.text.split(separator: "\n")
            try #require(lines.count == 2, "\(result.transcript.suffix(3_000))")
            #expect(Int(lines[0].split(separator: " ")[0]) == table.routes.count + (clock ? 11 : 7), "\(lines[0])")
            #expect((Int(lines[1].split(separator: " ")[0]) ?? 0) > 40, "\(lines[1])")
        }
    }

    @Test func `Rules, comments, parameters and who may call are shown`() throws {
        let page = try kitchen()
        let grams = page.operation("put", "/api/dishes/{dish_id}/season")["requestBody"]["content"]["application/json"]["schema"]
        #expect(grams["properties"]["grams"].names == ["format", "maximum", "minimum", "type"])
        let accepted = page.operation("put", "/api/dishes/{dish_id}/season")["responses"]["202"]["description"].value as? String
        #expect(accepted?.contains("`data.note`") == true)
        let waiting = page.operation("put", "/api/dishes/{dish_id}/season")["responses"]["202"]["content"]["application/json"]
        #expect(waiting["schema"]["$ref"].text == "#/components/schemas/KitchenSeasonAccepted")
        #expect(waiting["example"]["data"].names == ["note"])
        let note = page.schema("KitchenSeasonAcceptedData")
        #expect(note["required"].texts == ["note"] && note["properties"]["note"]["type"].text == "string", "it is set there")
        let since = page.operation("get", "/api/dishes/{dish_id}")["parameters"].list.first { $0["name"].text == "since" }
        #expect(since?["example"].text == "2026-01-02T00:00:00Z", "today's beginning, which has passed")
        for schema in ["KitchenEverything", "KitchenEverythingInput"] {
            let degrees = page.schema(schema)["properties"]["a_double"]
            #expect(degrees["minimum"].value as? Int == -90 && degrees["maximum"].value as? Int == 90, "\(schema)")
        }
        let cooked = page.operation("post", "/api/kitchen/cook")["requestBody"]["content"]["application/json"]["example"]
        #expect(cooked["a_double"].value as? Double == 52.5163, "a declared number is shown whole")
        #expect(cooked["a_float"].value as? Double == 1)
        #expect(page.operation("post", "/api/kitchen/cook")["description"].text == "Takes every kind of field.")
        #expect(page.operation("get", "/api/dishes/all")["x-auth"].text == "guest")
        let parameters = page.operation("get", "/api/dishes/{dish_id}")["parameters"].list
        #expect(
            parameters.map { "\($0["name"].text ?? "") \($0["in"].text ?? "")" } == [
                "dish_id path", "place.id query", "place.tags query", "place.floor query", "sizes query", "hot query",
                "spice query",
                "since query", "spices query", "name query", "rank query",
            ]
        )
        #expect(page["tags"].list.map { $0["description"].text ?? "" }.first == "Cooks things.")
        #expect(page["tags"].list.allSatisfy { $0["description"].text?.isEmpty == false })
    }

    @Test func `A message that may be null says so itself, since generators drop what is any of a message and null`() throws {
        let page = try kitchen()
        #expect(!page.objects.contains { $0["anyOf"].exists })
        let unions = page["components"]["schemas"].members.filter { $0.1.objects.contains { $0["oneOf"].exists } }.map(\.0)
        #expect(unions == ["KitchenWatchEvent"] && !page["paths"].objects.contains { $0["oneOf"].exists })
        let everything = page.schema("KitchenEverything")
        #expect(everything["type"].texts == ["object", "null"])
        #expect(everything["title"].text == "KitchenEverything")
        #expect(everything["properties"]["a_child"]["$ref"].text == "#/components/schemas/KitchenEverything")
        let required = everything["required"].texts
        #expect(!required.contains("a_child") && !required.contains("nested"))
        #expect(required.contains("maybe_int") && required.contains("children"))
        let spice = everything["properties"]["maybe_spice"]
        #expect(spice["type"].texts == ["string", "null"] && spice["enum"].texts.last == "null")
        #expect(spice["title"].text == "KitchenSpice")
        #expect(!spice["enum"].texts.contains("unspecified"))
        #expect(page.schema("KitchenDishReply")["type"].text == "object")
    }

    @Test func `What a reply is wrapped in is a component of the method's name, and its flag may be any`() throws {
        let page = try kitchen()
        let reply = page.operation("get", "/api/dishes/{dish_id}")["responses"]["200"]["content"]["application/json"]["schema"]
        #expect(reply["$ref"].text == "#/components/schemas/KitchenGetDishSuccess")
        let envelope = page.schema("KitchenGetDishSuccess")
        #expect(envelope["required"].texts == ["success", "data", "meta"])
        #expect(envelope["properties"]["success"]["type"].text == "boolean")
        for alias in ["/api/menus/{place.id}/dishes/{dish_id}"] {
            let same = page.operation("get", alias)["responses"]["200"]["content"]["application/json"]["schema"]
            #expect(same["$ref"].text == reply["$ref"].text, "\(alias)")
        }
        // A `const` of a flag becomes a check that nothing passes.
        #expect(!page.objects.contains { $0["const"].exists })
        #expect(page.schema("ErrorReply")["properties"]["success"]["type"].text == "boolean")
        for path in page["paths"].names {
            for verb in page["paths"][path].names {
                for (status, content) in page.operation(verb, path)["responses"].members {
                    let schema = content["content"]["application/json"]["schema"]
                    #expect(!schema.exists || schema["$ref"].exists, "\(verb) \(path) \(status)")
                }
            }
        }
    }

    @Test func `A file part is binary, and what an upload needs is required`() throws {
        let body = try kitchen().operation("post", "/api/dishes/photo")["requestBody"]
        let form = body["content"]["multipart/form-data"]["schema"]
        #expect(form["properties"]["photo"]["type"].text == "string")
        #expect(form["properties"]["photo"]["format"].text == "binary")
        #expect(!form["properties"]["photo"]["contentMediaType"].exists)
        #expect(form["required"].texts == ["photo", "dish_ids"])
        #expect(body["required"].isTrue)
    }

    @Test func `A body that is not read is binary, of any media type, and its headers are parameters`() throws {
        let operation = try kitchen().operation("post", "/api/deliveries/{sender}")
        let media = operation["requestBody"]["content"]["*/*"]["schema"]
        #expect(media["format"].text == "binary" && media["description"].text == "As it came. At most 1000 bytes.")
        #expect(operation["requestBody"]["required"].isTrue && operation["security"].list.isEmpty)
        let parameters = operation["parameters"].list.map { "\($0["name"].text ?? "") \($0["in"].text ?? "")" }
        #expect(parameters == ["sender path", "attempt query", "x-signature header", " "], "and the idempotency key")
    }

    @Test func `All failures have one schema, so that a generator makes one class of them`() throws {
        let page = try kitchen()
        for path in page["paths"].names {
            for verb in page["paths"][path].names {
                for (status, reply) in page.operation(verb, path)["responses"].members where !status.hasPrefix("2") {
                    let schema = reply["content"]["application/json"]["schema"]
                    let isOne = schema["$ref"].text == "#/components/schemas/ErrorReply"
                    #expect(!schema.exists || isOne, "\(verb) \(path) \(status)")
                }
            }
        }
        let errors = page["components"]["schemas"].names.filter { $0.contains("Error") }
        #expect(errors == ["ErrorBody", "ErrorDetail", "ErrorReason", "ErrorReply"], "another form where a route has it")
        #expect(page.schema("ErrorBody")["properties"]["code"].names == ["description", "type"], "new codes may come")
        let failure = page.operation("post", "/api/kitchen/cook")["responses"]["default"]["description"].text
        #expect(failure?.contains("BURNT") == true)
    }

    @Test func `Ids of rules, which no reader has a list of, are left out of every text`() throws {
        let page = try kitchen()
        #expect(page.schema("KitchenDishReady")["description"].text == "A dish can be fetched.")
        let dish = page.schema("KitchenDishReady")["properties"]["dish_id"]["description"].text
        #expect(dish == "Hashed (SHA-256) by the cook, in a zone\n(UTC-3).")
        let texts = page.objects.flatMap { [$0["description"].text, $0["summary"].text] }.compactMap(\.self)
        #expect(texts.count > 50)
        #expect(texts.filter { $0.contains(/\b[A-Z]{2}-\d/) } == [])
    }

    @Test func `A field that goes with others than an example shows is in no example`() throws {
        let page = try kitchen()
        let body = page.operation("post", "/api/dishes/photo")["requestBody"]["content"]["multipart/form-data"]
        let fields = body["schema"]["properties"].names
        #expect(fields.contains("sizes") && fields.contains("sent_before"))
        #expect(body["example"].names == ["caption", "dish_ids", "photo", "taken_at"], "nor what stands for the file")
    }

    @Test func `A stream has a schema of its events: one of its kinds, each with its data`() throws {
        let page = try kitchen()
        let media = page.operation("get", "/api/watch")["responses"]["200"]["content"]["text/event-stream"]
        #expect(media["schema"]["type"].text == "string", "as generators take it")
        #expect(media["x-event-schema"]["$ref"].text == "#/components/schemas/KitchenWatchEvent")
        let event = page.schema("KitchenWatchEvent")
        let kinds = ["KitchenWatchDishReady", "KitchenWatchClosed"]
        #expect(event["oneOf"].list.map { $0["$ref"].text } == kinds.map { "#/components/schemas/\($0)" })
        #expect(event["discriminator"]["propertyName"].text == "event")
        #expect(event["discriminator"]["mapping"]["closed"].text == "#/components/schemas/KitchenWatchClosed")
        let ready = page.schema("KitchenWatchDishReady")
        #expect(ready["properties"]["event"]["enum"].texts == ["dish_ready"] && ready["required"].texts == ["event", "data"])
        #expect(ready["properties"]["data"]["$ref"].text == "#/components/schemas/KitchenDishReady")
        let state = page.schema("KitchenDishReady")["properties"]["state"]
        #expect(state["enum"].texts == ["hot", "cold"], "what a reply may say, its field declares")
    }

    @Test func `A stream of events that are no message is refused`() throws {
        var bytes = try Fixture.bytes("kitchen.binpb")
        let (old, new) = (Array("streaksnap.kitchen.v1.DishReady".utf8), Array("streaksnap.kitchen.v1.DishRaedy".utf8))
        let starts = bytes.indices.dropLast(old.count).filter { Array(bytes[$0..<($0 + old.count)]) == old }
        try #require(starts.count == 1, "the option and nothing else")
        for start in starts { bytes.replaceSubrange(start..<(start + old.count), with: new) }
        let refused = RouteTable().install(try DescriptorSet(serialized: bytes), service: "kitchen")
        #expect(refused.contains { $0.reason.contains("events “dish_ready” of streaksnap.kitchen.v1.DishRaedy") }, "\(refused)")
    }

    @Test func `A stream is text of its own media type, and takes the id of the last event`() throws {
        let operation = try kitchen().operation("get", "/api/watch")
        #expect(operation["responses"]["200"]["content"].names == ["text/event-stream"])
        #expect(
            operation["parameters"].list.map { "\($0["name"].text ?? "") \($0["in"].text ?? "")" } == ["Last-Event-ID header"]
        )
    }

    @Test func `Secrets are written only in requests, and what is required is not empty`() throws {
        let page = try kitchen()
        #expect(!page.schema("KitchenDishReply").objects.contains { $0["writeOnly"].exists })
        let input = page.operation("put", "/api/dishes/{dish_id}/season")["parameters"].list[0]["schema"]
        #expect(input["writeOnly"].isTrue && input["minLength"].value as? Int == 1)
        let place = page.schema("KitchenPlaceInput")["properties"]["id"]
        #expect(place["minLength"].value as? Int == 1 && place["pattern"].text == "^[a-z0-9_.]+$")
    }

    @Test func `Every operation lists its error codes: those of its method, and those of everything before it`() throws {
        let page = try kitchen()
        func codes(_ verb: String, _ path: String) -> [String] {
            page.operation(verb, path)["x-error-codes"].texts
        }
        let cook = codes("post", "/api/kitchen/cook")
        #expect(cook.contains("TOO_HOT") && cook.contains("BURNT") && cook == cook.sorted())
        #expect(cook.contains("IDEMPOTENCY_KEY_REUSED") && cook.contains("TOKEN_EXPIRED") && cook.contains("BODY_TOO_LARGE"))
        let dish = codes("get", "/api/dishes/{dish_id}")
        #expect(dish.contains("MALFORMED_PATH") && !dish.contains("TOKEN_EXPIRED") && !dish.contains("IDEMPOTENCY_KEY_REUSED"))
        #expect(codes("post", "/api/dishes/photo").contains("FILE_TOO_LARGE"))
        for path in page["paths"].names {
            for verb in page["paths"][path].names where page.operation(verb, path)["tags"].texts != ["gateway"] {
                #expect(codes(verb, path).contains("VALIDATION_ERROR"), "\(verb) \(path)")
            }
        }
    }

    @Test func `Headers are described: the request's id, the rate limits, when to come again, the idempotency key`() throws {
        let page = try kitchen()
        for path in page["paths"].names {
            for verb in page["paths"][path].names {
                let operation = page.operation(verb, path)
                for status in operation["responses"].names {
                    #expect(operation["responses"][status]["headers"]["X-Request-Id"].exists, "\(verb) \(path) \(status)")
                }
                guard operation["tags"].texts != ["gateway"] else { continue }
                if path.hasPrefix("/api/deliveries/") {
                    #expect(!operation["responses"]["429"].exists, "it is not counted")
                    continue
                }
                let limit = operation["responses"]["429"]["headers"].names
                #expect(limit == ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After", "X-Request-Id"])
                let key = operation["parameters"].list.contains { $0["$ref"].text == "#/components/parameters/IdempotencyKey" }
                #expect(key == (verb != "get"), "\(verb) \(path)")
            }
        }
    }

    @Test func `Additional paths of a method are deprecated, the first is not`() throws {
        let page = try kitchen()
        #expect(!page.operation("get", "/api/dishes/{dish_id}")["deprecated"].exists)
        for path in ["/api/menus/{place.id}/dishes/{dish_id}", "/api/files/plates/{dish_id}", "/api/files/{dish_id}"] {
            guard page["paths"].names.contains(path) else { continue }
            let alias = page.operation("get", path)
            #expect(alias["deprecated"].isTrue)
            #expect(alias["description"].text?.contains("`GET /api/dishes/{dish_id}`") == true)
        }
        #expect(page.operation("get", "/api/menus/{place.id}/dishes/{dish_id}")["deprecated"].isTrue)
        let ids = page["paths"].names.flatMap { path in
            page["paths"][path].names.compactMap { page.operation($0, path)["operationId"].text }
        }
        #expect(Set(ids).count == ids.count && ids.contains("kitchenCook"))
    }

    @Test func `The gateway's own routes are there, the development clock only when it is on`() throws {
        let routes = try Fixture.routes().routes
        let (off, on) = (try Page(routes), try Page(routes, developmentClock: true))
        for path in ["/api/health", "/healthz", "/readyz", "/media/{key}", "/openapi.json", "/docs"] {
            #expect(off.operation("get", path)["responses"].exists, "\(path)")
        }
        #expect(!off["paths"].names.contains("/api/dev/clock"))
        #expect(on["paths"]["/api/dev/clock"].names == ["get", "post"])
    }
}
