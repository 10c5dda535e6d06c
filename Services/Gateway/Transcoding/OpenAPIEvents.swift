/// What the OpenAPI page says of server-sent events. OpenAPI 3.1 has no word for the schema of one event of many (3.2 has `itemSchema`), so
/// the reply is text, as generators of clients take it, and `x-event-schema` beside its schema names that of an event: one of the kinds, by
/// `event`.
enum OpenAPIEvents {
    /// The content of a stream's reply.
    static func content(_ stream: MethodPolicy.Stream, _ route: Route, _ schemas: inout OpenAPISchemas) -> JSONNode {
        guard !stream.kinds.isEmpty else { return ["text/event-stream": ["schema": ["type": "string"]]] }
        let prefix = OpenAPIResponses.component(route, "")
        var kinds: [(String, JSONNode)] = []
        for kind in stream.kinds {
            let schema = event(kind, route, &schemas)
            kinds.append((kind.name, schemas.named(prefix + OpenAPISchemas.capitalised(kind.name), schema)))
        }
        let all: JSONNode = [
            "description": "One event of the stream: its fields, with `data` read as JSON.", "oneOf": .array(kinds.map { $0.1 }),
            "discriminator": [
                "propertyName": "event", "mapping": .object(kinds.map { ($0, $1["$ref"] ?? .null) }),
            ],
        ]
        let reference = schemas.named(prefix + "Event", all)
        let schema: JSONNode = [
            "type": "string", "description": .string("Server-sent events, each as the schema `\(prefix)Event` says."),
        ]
        return ["text/event-stream": ["schema": schema, "x-event-schema": reference]]
    }

    private static func event(
        _ kind: MethodPolicy.Stream.Kind,
        _ route: Route,
        _ schemas: inout OpenAPISchemas
    ) -> JSONNode {
        var schema: JSONNode = ["type": "object", "required": ["event", "data"]]
        let set = route.set.describing(kind.data)
        if let comment = set.message(named: kind.data)?.comment, !comment.isEmpty { schema["description"] = .string(comment) }
        schema["properties"] = [
            "id": ["type": "string", "description": "Sent as `Last-Event-ID`, the stream goes on behind it."],
            "event": ["type": "string", "enum": .strings([kind.name]), "description": "Which kind of event it is."],
            "data": schemas.reference(kind.data, in: set, .reply),
        ]
        return schema
    }
}
