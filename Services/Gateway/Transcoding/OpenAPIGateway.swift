internal import Kernel

/// The gateway's own routes on the OpenAPI page: those that are no RPC, so no proto describes them.
enum OpenAPIGateway {
    static let tag: JSONNode = [
        "name": "gateway", "description": "What the gateway answers by itself: health, stored files, the API's description.",
    ]

    private static let clockReasons = ErrorReasons.always + ErrorReasons.body
    private static let mediaReasons = ErrorReasons.always + ErrorReasons.file + ErrorReasons.link

    static let components: [(String, JSONNode)] = [
        (
            "GatewayHealth",
            [
                "type": "object", "required": ["status", "db", "unavailable", "version", "timestamp"],
                "properties": [
                    "status": [
                        "type": "string", "enum": ["ok", "degraded"], "description": "Degraded while `db` is false.",
                    ],
                    "db": ["type": "boolean", "description": "Whether every service answers and has its database."],
                    "unavailable": [
                        "type": "array", "items": ["type": "string"],
                        "description": "Services that do not answer, or whose database is away or full.",
                    ],
                    "refused": [
                        "type": "array", "items": ["type": "string"],
                        "description": "Services of which a replica or a route is refused; absent while there are none.",
                    ],
                    "version": ["type": "string", "description": "The release that runs."],
                    "zone_data": [
                        "type": "string",
                        "description": "The oldest version of the tz database that a part goes by; absent when none says it.",
                    ],
                    "timestamp": ["type": "string", "format": "date-time", "description": "When it answered, by its clock."],
                ],
            ]
        ),
        (
            "GatewayClock",
            [
                "type": "object", "required": ["success", "data", "meta"],
                "properties": [
                    "success": OpenAPIResponses.success,
                    "data": [
                        "type": "object", "description": "The development clock.", "required": ["now", "offset_seconds"],
                        "properties": [
                            "now": ["type": "string", "format": "date-time", "description": "The time that it shows."],
                            "offset_seconds": [
                                "type": "integer", "format": "int64", "description": "How far ahead of the real time it is.",
                            ],
                        ],
                    ],
                    "meta": .reference("schemas/ReplyMeta"),
                ],
            ]
        ),
        (
            "GatewayClockChange",
            [
                "type": "object", "description": "Exactly one of the two.", "minProperties": 1, "maxProperties": 1,
                "additionalProperties": false,
                "properties": [
                    "advance_seconds": [
                        "type": "integer", "format": "int64", "minimum": 0, "maximum": 3_153_600_000,
                        "description": "Seconds by which to move it forward.",
                    ],
                    "set": [
                        "type": "string", "format": "date-time",
                        "description": "The time that it is to show: not before what it shows now.",
                    ],
                ],
            ]
        ),
    ]

    /// The routes' verbs and paths, and what the page says of them.
    ///
    /// - Parameter today: the day around which dates in examples lie.
    static func paths(developmentClock: Bool, today: CalendarDate) -> [(String, JSONNode)] {
        let now = JSONNode.string(OpenAPIExamples.time(today))
        var paths: [(String, JSONNode)] = [
            ("/api/health", ["get": health(now)]),
            ("/healthz", ["get": text("gatewayAlive", "Whether the process runs", ["200": "Alive."])]),
            (
                "/readyz",
                [
                    "get": text(
                        "gatewayReady",
                        "Whether every service answers",
                        ["200": "Ready.", "503": "Not ready; the text says why."]
                    )
                ]
            ),
            ("/openapi.json", ["get": document("gatewayOpenAPI", "This description", "application/json")]),
            ("/admin", ["get": document("gatewayConsole", "The console of administrators", "text/html")]),
            ("/docs", ["get": document("gatewayDocs", "The routes as a page to read and to try", "text/html")]),
            ("/media/{key}", ["get": media]),
        ]
        guard developmentClock else { return paths }
        paths.append(("/demo", ["get": document("gatewayDemo", "Two phones in a page that play the product", "text/html")]))
        paths.append(("/api/dev/clock", ["get": clock(isChange: false, now), "post": clock(isChange: true, now)]))
        paths.append(("/map", ["get": document("gatewayMap", "Posts and clusters on a map, to look at", "text/html")]))
        return paths
    }

    private static let headers: JSONNode = ["X-Request-Id": .reference("headers/XRequestId")]

    private static func operation(_ id: String, _ summary: String) -> JSONNode {
        ["operationId": .string(id), "tags": ["gateway"], "summary": .string(summary), "security": [], "x-auth": "none"]
    }

    private static func text(_ id: String, _ summary: String, _ statuses: KeyValuePairs<String, String>) -> JSONNode {
        var route = operation(id, summary)
        route["responses"] = .object(
            statuses.map { status, description in
                let content: JSONNode = ["text/plain": ["schema": ["type": "string"], "example": .string(description)]]
                return (status, ["description": .string(description), "headers": headers, "content": content])
            }
        )
        return route
    }

    private static func document(_ id: String, _ summary: String, _ type: String) -> JSONNode {
        var route = operation(id, summary)
        let content = JSONNode.object([(type, [:] as JSONNode)])
        route["responses"] = [
            "200": ["description": "The document; as gzip for who accepts that.", "headers": headers, "content": content],
            "304": ["description": "It is the one that `If-None-Match` names.", "headers": headers],
        ]
        return route
    }

    private static func health(_ now: JSONNode) -> JSONNode {
        var route = operation("gatewayHealth", "Whether the system is well")
        let example: JSONNode = [
            "status": "ok", "db": true, "unavailable": [], "version": "1.0.0", "zone_data": "2026f",
            "timestamp": now,
        ]
        let content: JSONNode = ["application/json": ["schema": .reference("schemas/GatewayHealth"), "example": example]]
        route["responses"] = ["200": ["description": "Well, or degraded.", "headers": headers, "content": content]]
        return route
    }

    private static var media: JSONNode {
        var route = operation("gatewayMedia", "A stored photo, card or avatar")
        route["description"] = """
            Replies of other routes hold whole links to it. The key has slashes. Photos and cards need the link's signature; avatars, below \
            `avatars/`, need none.
            """
        func query(_ name: String, _ description: String, _ example: String) -> JSONNode {
            [
                "name": .string(name), "in": "query", "description": .string(description), "schema": ["type": "string"],
                "example": .string(example),
            ]
        }
        route["parameters"] = [
            [
                "name": "key", "in": "path", "required": true, "schema": ["type": "string", "minLength": 1],
                "description": "Names the file, as the link has it.", "example": "avatars/1/512.jpg",
            ],
            query("exp", "When the link ends, in seconds since 1970.", "1767322800"),
            query("for", "The user that the link was made for.", OpenAPIExamples.id("for")),
            query("sig", "The link's signature.", "c2lnbmF0dXJl"),
        ]
        let image: JSONNode = ["image/jpeg": [:], "image/png": [:]]
        var failure: JSONNode = ["description": "There is no such file, or the link has ended.", "headers": headers]
        failure["content"] = OpenAPIErrors.content("NOT_FOUND", "There is no such file.")
        route["x-error-codes"] = .strings(mediaReasons.sorted())
        route["responses"] = [
            "200": ["description": "The file.", "headers": headers, "content": image],
            "206": ["description": "The part that `Range` asked for.", "headers": headers, "content": image],
            "304": ["description": "It is the one that `If-None-Match` names.", "headers": headers],
            "416": ["description": "It ends before that range.", "headers": headers], "default": failure,
        ]
        return route
    }

    private static func clock(isChange: Bool, _ now: JSONNode) -> JSONNode {
        var route = operation(
            isChange ? "gatewayMoveClock" : "gatewayClock",
            isChange ? "Moves the development clock forward" : "What the development clock shows"
        )
        if isChange {
            route["description"] = "Every job that was due in the skipped time has run when it answers."
            let body: JSONNode = ["schema": .reference("schemas/GatewayClockChange"), "example": ["advance_seconds": 86_400]]
            route["requestBody"] = ["required": true, "content": ["application/json": body]]
        }
        let example: JSONNode = [
            "success": true, "data": ["now": now, "offset_seconds": 86_400],
            "meta": ["request_id": OpenAPIResponses.exampleID],
        ]
        let content: JSONNode = ["application/json": ["schema": .reference("schemas/GatewayClock"), "example": example]]
        var failure: JSONNode = ["description": "Failure; `error.code` says which.", "headers": headers]
        failure["content"] = OpenAPIErrors.content("VALIDATION_ERROR", "The request has invalid fields.")
        route["x-error-codes"] = .strings(clockReasons.sorted())
        route["responses"] = [
            "200": ["description": "What it shows now.", "headers": headers, "content": content], "default": failure,
        ]
        return route
    }
}
