/// What the OpenAPI page says of a request: its path, parameters and body.
enum OpenAPIParameters {
    /// `/api/files/{dish_id=plates/**}` is `/api/files/{dish_id}` in OpenAPI, which has no multi-segment variables; literals stay.
    static func path(_ route: Route) -> String {
        var text = ""
        var index = 0
        while index < route.pattern.segments.count {
            if let variable = bound(route, at: index) {
                text += "/{\(variable.fieldPath)}"
                index = variable.segments.upperBound
                continue
            }
            switch route.pattern.segments[index] {
            case .literal(let bytes): text += "/" + String(decoding: bytes, as: UTF8.self)
            case .any, .rest: text += "/{segment_\(index)}"
            }
            index += 1
        }
        return text.isEmpty ? "/" : text
    }

    /// The variable that begins at a segment, unless it only binds a literal.
    private static func bound(_ route: Route, at index: Int) -> PathTemplate.Variable? {
        route.pattern.variables.first { variable in
            guard variable.segments.lowerBound == index else { return false }
            if variable.segments.count == 1, case .literal = route.pattern.segments[index] { return false }
            return true
        }
    }

    static func parameters(_ route: Route, _ schemas: inout OpenAPISchemas) -> [JSONNode] {
        var list: [JSONNode] = []
        for variable in route.pattern.variables {
            let isShown = bound(route, at: variable.segments.lowerBound)?.fieldPath == variable.fieldPath
            guard isShown, var field = schemas.field(variable.fieldPath, of: route.requestType, in: route.set) else { continue }
            // A segment is never empty.
            field.rules.required = true
            list.append(parameter(variable.fieldPath, in: "path", field, route, &schemas))
        }
        for (index, segment) in route.pattern.segments.enumerated() where segment == .any || segment == .rest {
            if !route.pattern.variables.contains(where: { $0.segments.contains(index) }) {
                list.append([
                    "name": .string("segment_\(index)"), "in": "path", "required": true, "description": "A part of the path.",
                    "schema": ["type": "string"],
                ])
            }
        }
        if route.policy.stream != nil {
            list.append(lastEventID)
        } else if route.request.body != .message {
            let raw = route.policy.raw.map { [$0.field] + $0.headers.map(\.field) } ?? []
            let taken = Set(route.pattern.variables.map(\.fieldPath) + [route.binding.body] + raw)
            for (name, field) in schemas.queryFields(of: route.requestType, in: route.set) where !taken.contains(name) {
                list.append(parameter(name, in: "query", field, route, &schemas))
            }
        }
        for header in route.policy.raw?.headers ?? [] where header.name != "authorization" {
            // OpenAPI has no parameter of this name: it would be a security scheme.
            guard let field = schemas.field(header.field, of: route.requestType, in: route.set) else { continue }
            list.append(parameter(header.name, in: "header", field, route, &schemas))
        }
        if route.takesKey { list.append(.reference("parameters/IdempotencyKey")) }
        return list
    }

    private static let lastEventID: JSONNode = [
        "name": "Last-Event-ID", "in": "header", "required": false,
        "description": """
        The `id` of the last event that was received. Those after it come first; when they are not known any more, or without the header, \
        the stream begins with the event `reset`: read the lists again.
        """,
        "schema": ["type": "string", "maxLength": 64], "example": "42",
    ]

    private static func parameter(
        _ name: String,
        in location: String,
        _ field: FieldDescriptor,
        _ route: Route,
        _ schemas: inout OpenAPISchemas
    ) -> JSONNode {
        var parameter: JSONNode = ["name": .string(name), "in": .string(location)]
        if location == "path" || field.isRequiredInput { parameter["required"] = true }
        if !field.comment.isEmpty { parameter["description"] = .string(field.comment) }
        var bare = field
        bare.comment = ""
        parameter["schema"] = schemas.schemaOf(bare, in: route.set, .text)
        let example = schemas.examples(route.set).value(field, isReply: false)
        // Of what only a reply can give, there is none that works.
        if field.name != "cursor", example != .null { parameter["example"] = example }
        return parameter
    }

    /// The body; nil for a route without one, and when nothing is left for it.
    static func requestBody(_ route: Route, _ schemas: inout OpenAPISchemas) -> JSONNode? {
        guard route.request.body != .none, let message = route.set.message(named: route.requestType) else { return nil }
        let examples = schemas.examples(route.set)
        if !route.policy.uploads.isEmpty { return form(route, message, &schemas) }
        if let raw = route.policy.raw { return binary(raw, message) }
        if let field = message.fields.first(where: { $0.name == route.binding.body }) {
            let schema = schemas.schemaOf(field, in: route.set, .body)
            return body("application/json", schema, examples.value(field, isReply: false), isRequired: true)
        }
        let taken = route.pattern.variables.map(\.fieldPath)
        let left = message.fields.filter { !taken.contains($0.name) }
        guard !left.isEmpty else { return nil }
        let schema =
            taken.isEmpty
            ? schemas.reference(route.requestType, in: route.set, .body)
            : schemas.object(message, in: route.set, .body, without: taken)
        return body(
            "application/json",
            schema,
            examples.message(route.requestType, isReply: false, without: taken),
            isRequired: left.contains { $0.isRequiredInput }
        )
    }

    private static func body(_ type: String, _ schema: JSONNode, _ example: JSONNode, isRequired: Bool) -> JSONNode {
        let content: JSONNode = ["schema": schema, "example": example]
        var body: JSONNode = ["content": .object([(type, content)])]
        if isRequired { body["required"] = true }
        return body
    }

    /// A body of any media type.
    private static func binary(_ raw: MethodPolicy.Raw, _ message: MessageDescriptor) -> JSONNode {
        let field = message.fields.first { $0.name == raw.field }
        var schema: JSONNode = ["type": "string", "format": "binary"]
        let comment = field?.comment ?? ""
        schema["description"] = .string((comment.isEmpty ? "" : comment + " ") + "At most \(raw.maxBytes) bytes.")
        var body: JSONNode = ["content": ["*/*": ["schema": schema]]]
        if field?.isRequiredInput == true { body["required"] = true }
        return body
    }

    private static func form(
        _ route: Route,
        _ message: MessageDescriptor,
        _ schemas: inout OpenAPISchemas
    ) -> JSONNode {
        let examples = schemas.examples(route.set)
        var properties: [(String, JSONNode)] = []
        var example: [(String, JSONNode)] = []
        var required: [String] = []
        for upload in route.policy.uploads {
            let file = message.fields.first { $0.name == upload.field }
            // `format: binary` and nothing else is what all generators take for a file.
            var part: JSONNode = ["type": "string", "format": "binary"]
            if let comment = file?.comment, !comment.isEmpty { part["description"] = .string(comment) }
            properties.append((upload.part, part))
            // A form has one file.
            if example.isEmpty { example.append((upload.part, "(the bytes of the file)")) }
            if file?.isRequiredInput == true { required.append(upload.part) }
        }
        let files = route.policy.uploads.map(\.field)
        // What the path gives, the form may not.
        let taken = files + route.pattern.variables.map(\.fieldPath)
        for (name, field) in schemas.queryFields(of: route.requestType, in: route.set) {
            guard !taken.contains(where: { name == $0 || name.hasPrefix($0 + ".") }) else { continue }
            properties.append((name, schemas.schemaOf(field, in: route.set, .text)))
            let value = examples.value(field, isReply: false)
            if value != .null, !route.policy.uploads.contains(where: { $0.instead == name }) { example.append((name, value)) }
            // A member's rules hold when its message is there.
            if field.isRequiredInput, !name.contains(".") { required.append(name) }
        }
        var schema: JSONNode = ["type": "object", "properties": .object(properties), "additionalProperties": false]
        if !required.isEmpty { schema["required"] = .strings(required) }
        let form: (String, JSONNode) = ("multipart/form-data", ["schema": schema, "example": .object(example)])
        // JSON has no file.
        guard route.takesJSON else { return ["content": .object([form]), "required": true] }
        let object = schemas.object(message, in: route.set, .body, without: taken)
        let json: JSONNode = [
            "schema": schemas.named(OpenAPIResponses.component(route, "JSON"), object),
            "example": examples.message(route.requestType, isReply: false, without: taken),
        ]
        return ["content": .object([form, ("application/json", json)]), "required": true]
    }
}
