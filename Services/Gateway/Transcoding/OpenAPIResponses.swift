/// What the OpenAPI page says of replies: bodies, headers, error codes and examples.
enum OpenAPIResponses {
    static let idempotencyKey: JSONNode = [
        "name": "Idempotency-Key", "in": "header", "required": false,
        "description": """
        A random text of the client's, a UUID for example, that names this request: a repeat with the same key and body within 24 h gets \
        the first answer, with another body `IDEMPOTENCY_KEY_REUSED`.
        """,
        "schema": ["type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"],
    ]

    static let headers: JSONNode = [
        "XRequestId": [
            "description": "Names this exchange in logs; the one that was sent, when it may be used.", "required": true,
            "schema": ["type": "string"],
        ],
        "RateLimitLimit": [
            "description": "Requests that could be made at once after a pause; absent where there is no limit.",
            "schema": ["type": "integer"],
        ],
        "RateLimitRemaining": ["description": "Requests that can still be made at once.", "schema": ["type": "integer"]],
        "RateLimitReset": ["description": "Seconds until the allowance is whole again.", "schema": ["type": "integer"]],
        "RetryAfter": [
            "description": "Seconds after which trying again makes sense; with every 429 and 503.", "schema": ["type": "integer"],
        ],
        "WWWAuthenticate": [
            "description": """
            With every 401: `Bearer`, and where the access token that was sent is refused also `error="invalid_token"` and \
            `error_description` (RFC 6750). Then a new one is worth asking for.
            """,
            "schema": ["type": "string"],
        ],
    ]

    /// Schemas that many operations share.
    static let components: [(String, JSONNode)] = [
        (
            "ReplyMeta",
            [
                "type": "object", "description": .string(aboutExchange), "required": ["request_id"],
                "properties": ["request_id": requestID],
            ]
        )
    ]

    private static let aboutExchange = "About the exchange: the id of the request."
    /// `meta.request_id`.
    static let requestID: JSONNode = ["type": "string", "description": "That of the header `X-Request-Id`."]

    static let exampleID: JSONNode = .string(OpenAPIExamples.id("request_id"))

    /// `success` of a reply. It has no `const`: OpenAPI Generator compares a flag's with the text "true", so that its clients would refuse every
    /// reply. The status says the same.
    static let success: JSONNode = ["type": "boolean", "description": "Always true."]

    /// The name of a component that belongs to a route's method: `AuthRegisterSuccess`.
    static func component(_ route: Route, _ suffix: String) -> String {
        let id = OpenAPI.operationID(route)
        return id.prefix(1).uppercased() + id.dropFirst() + suffix
    }

    private static let rateLimit: [(String, JSONNode)] = [
        ("X-Request-Id", .reference("headers/XRequestId")),
        ("RateLimit-Limit", .reference("headers/RateLimitLimit")),
        ("RateLimit-Remaining", .reference("headers/RateLimitRemaining")),
        ("RateLimit-Reset", .reference("headers/RateLimitReset")),
    ]
    private static let challenge: (String, JSONNode) = ("WWW-Authenticate", .reference("headers/WWWAuthenticate"))
    static let retryAfter: (String, JSONNode) = ("Retry-After", .reference("headers/RetryAfter"))

    static func responses(_ route: Route, _ schemas: inout OpenAPISchemas) -> JSONNode {
        var responses: [(String, JSONNode)] = []
        var success: JSONNode = ["description": "Success.", "headers": .object(rateLimit), "content": content(route, &schemas)]
        if route.policy.body?.blobField.isEmpty == false { success["description"] = "The reply, or the file it stands for." }
        responses.append((String(route.policy.successStatus), success))
        if !route.policy.acceptedField.isEmpty {
            responses.append(("202", accepted(route, &schemas)))
        }
        if let body = route.policy.body {
            if !body.redirectField.isEmpty {
                responses.append(
                    ("302", ["description": "The bytes lie at the URL in Location.", "headers": .object(rateLimit)])
                )
            }
            if !body.statusField.isEmpty {
                var content = OpenAPIErrors.content("INTERNAL", "Something went wrong on our side.")
                content[mediaType(body)] = [:]
                responses.append(
                    ("4XX", ["description": "The page says why not.", "headers": .object(rateLimit), "content": content])
                )
            }
        }
        if !route.policy.unlimited {
            responses.append(("429", tooMany(route)))
        }
        let code = route.policy.reasons.first ?? "UNAVAILABLE"
        responses.append(
            (
                "default",
                [
                    "description": .string("Failure; `error.code` says which: \(route.reasons.joined(separator: ", "))."),
                    "headers": .object(rateLimit + [retryAfter] + (route.policy.auth == .none ? [] : [challenge])),
                    "content": OpenAPIErrors.content(code, "One sentence that is safe to show.", isExact: route.policy.exact),
                ]
            )
        )
        return .object(responses)
    }

    /// What is answered while what was asked for is not done yet (`accepted_field`).
    private static func accepted(_ route: Route, _ schemas: inout OpenAPISchemas) -> JSONNode {
        let name = route.policy.acceptedField
        let text = "Accepted, and not done yet: `data.\(name)` says what it waits for, and nothing else of `data` is set."
        var response: JSONNode = ["description": .string(text), "headers": .object(rateLimit)]
        guard case .envelope = route.reply.form,
            var field = route.set.message(named: route.replyType)?.fields.first(where: { $0.name == name })
        else { return response }
        // It is set here.
        field.shape = .scalar
        let data: JSONNode = [
            "type": "object", "description": "What it waits for.", "required": [.string(name)],
            "properties": .object([(name, schemas.schemaOf(field, in: route.set, .reply))]),
        ]
        let schema: JSONNode = [
            "type": "object", "required": ["success", "data", "meta"],
            "properties": [
                "success": success,
                "data": described(schemas.named(component(route, "AcceptedData"), data), ["What it waits for."]),
                "meta": described(timed(.reference("schemas/ReplyMeta"), route), [aboutExchange]),
            ],
        ]
        let value = schemas.examples(route.set).value(field, isReply: true)
        let example: JSONNode = [
            "success": true, "data": .object([(name, value)]), "meta": ["request_id": exampleID],
        ]
        response["content"] = [
            "application/json": ["schema": schemas.named(component(route, "Accepted"), schema), "example": example]
        ]
        return response
    }

    private static func tooMany(_ route: Route) -> JSONNode {
        [
            "description": route.policy.stream == nil
                ? "Too many requests." : "Too many requests, or too many streams of this user are open.",
            "headers": .object(rateLimit + [retryAfter]),
            "content": OpenAPIErrors.content(
                "RATE_LIMITED",
                "Too many requests; come again later.",
                isExact: route.policy.exact
            ),
        ]
    }

    private static func mediaType(_ body: MethodPolicy.Body) -> String {
        body.contentType.isEmpty ? "application/octet-stream" : String(body.contentType.prefix { $0 != ";" })
    }

    private static func content(_ route: Route, _ schemas: inout OpenAPISchemas) -> JSONNode {
        if let stream = route.policy.stream { return OpenAPIEvents.content(stream, route, &schemas) }
        guard let body = route.policy.body else { return ["application/json": reply(route, &schemas)] }
        var types = [mediaType(body)]
        if !body.blobField.isEmpty {
            // The types that files have: a page stands for pictures, a document for documents.
            let files = types == ["text/html"] ? ["image/jpeg", "image/png"] : ["application/json", "text/csv"]
            types += files.filter { !types.contains($0) }
        }
        return .object(types.map { ($0, [:] as JSONNode) })
    }

    /// The reply as the transcoder writes it, with the envelope and what is lifted, and an example.
    private static func reply(_ route: Route, _ schemas: inout OpenAPISchemas) -> JSONNode {
        let examples = schemas.examples(route.set)
        guard case .envelope = route.reply.form, let message = route.set.message(named: route.replyType) else {
            return [
                "schema": schemas.reference(route.replyType, in: route.set, .reply),
                "example": examples.message(route.replyType, isReply: true),
            ]
        }
        let lifted = [route.reply.metaField, route.reply.messageField].filter { $0 >= 0 }.map { message.fields[$0] }
        let without = lifted.map(\.name)
        let whole = route.reply.dataField >= 0 ? message.fields[route.reply.dataField] : nil
        let data = whole?.typeName
        var properties: [(String, JSONNode)] = [("success", success)]
        var example: JSONNode = ["success": true]
        let answer =
            data.map { schemas.reference($0, in: route.set, .reply) }
            ?? (lifted.isEmpty
                ? schemas.reference(route.replyType, in: route.set, .reply)
                : schemas.object(message, in: route.set, .reply, without: without))
        // As the newest version of the message says.
        let about = route.set.describing(route.replyType).message(named: route.replyType)?.comment ?? ""
        properties.append(("data", described(answer, [whole?.comment ?? "", about, "What the operation answers."])))
        example["data"] =
            data.map { examples.message($0, isReply: true) }
            ?? examples.message(route.replyType, isReply: true, without: without)
        if route.reply.messageField >= 0 {
            let field = message.fields[route.reply.messageField]
            properties.append(("message", schemas.schemaOf(field, in: route.set, .reply)))
            example["message"] = examples.value(field, isReply: true)
        }
        var meta: JSONNode = [:]
        if route.reply.metaField >= 0 {
            let field = message.fields[route.reply.metaField]
            let shown = timed(schemas.reference(field.typeName, in: route.set, .meta), route)
            properties.append(("meta", described(shown, [field.comment, aboutExchange])))
            meta = examples.message(field.typeName, isReply: true)
        } else {
            properties.append(("meta", described(timed(.reference("schemas/ReplyMeta"), route), [aboutExchange])))
        }
        meta["request_id"] = exampleID
        if route.policy.exact { meta["request_time"] = 23 }
        example["meta"] = meta
        let schema: JSONNode = [
            "type": "object", "required": ["success", "data", "meta"], "properties": .object(properties),
        ]
        return ["schema": schemas.named(component(route, "Success"), schema), "example": example]
    }

    /// The schema with a description: the first of these texts that says something.
    private static func described(_ schema: JSONNode, _ texts: [String]) -> JSONNode {
        var schema = schema
        schema["description"] = texts.first { !$0.isEmpty }.map(JSONNode.string)
        return schema
    }

    /// The schema of `meta`, which says how long it took where bodies follow a published interface.
    private static func timed(_ meta: JSONNode, _ route: Route) -> JSONNode {
        guard route.policy.exact else { return meta }
        let time: JSONNode = [
            "type": "object", "required": ["request_time"],
            "properties": ["request_time": ["type": "integer", "description": "Milliseconds that it took."]],
        ]
        return ["allOf": [meta, time]]
    }
}
