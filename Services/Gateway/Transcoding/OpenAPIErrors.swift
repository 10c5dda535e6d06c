/// What the OpenAPI page says of failures: one schema for all of them, so that generators of clients make one class. Which codes an operation
/// may answer stands with the operation, as `x-error-codes`.
enum OpenAPIErrors {
    /// The schemas.
    ///
    /// - Parameter isExact: whether there are routes whose `details` are an object (`exact`).
    static func components(isExact: Bool) -> [(String, JSONNode)] {
        [
            ("ErrorReply", reply("ErrorBody")),
            ("ErrorBody", body(list)),
            ("ErrorDetail", detail), ("ErrorReason", reason),
        ] + (isExact ? [("PublishedErrorReply", reply("PublishedErrorBody")), ("PublishedErrorBody", body(published))] : [])
    }

    /// A failure's body, with a code for an example.
    static func content(_ code: String, _ message: String, isExact: Bool = false) -> JSONNode {
        let details: JSONNode = isExact ? [:] : []
        let example: JSONNode = [
            "success": false,
            "error": ["code": .string(code), "reason": .string(code), "message": .string(message), "details": details],
            "meta": ["request_id": OpenAPIResponses.exampleID],
        ]
        let schema = JSONNode.reference("schemas/" + (isExact ? "PublishedErrorReply" : "ErrorReply"))
        return ["application/json": ["schema": schema, "example": example]]
    }

    /// The error envelope (PF-1). `success` has no `const`, as that of a success.
    private static func reply(_ body: String) -> JSONNode {
        [
            "type": "object", "required": ["success", "error", "meta"],
            "properties": [
                "success": ["type": "boolean", "description": "Always false."], "error": .reference("schemas/" + body),
                "meta": .reference("schemas/ReplyMeta"),
            ],
        ]
    }

    private static func body(_ details: JSONNode) -> JSONNode {
        [
            "type": "object", "description": "What went wrong.", "required": ["code", "reason", "message", "details"],
            "properties": [
                "code": [
                    "type": "string",
                    "description": """
                    Stable. Each operation lists those that it may answer, in `x-error-codes`; new ones may come: treat one that you do not \
                    know by the HTTP status.
                    """,
                ],
                "reason": .reference("schemas/ErrorReason"),
                "message": ["type": "string", "description": "One sentence that is safe to show."], "details": details,
            ],
        ]
    }

    private static let list: JSONNode = [
        "type": "array", "items": .reference("schemas/ErrorDetail"),
        "description": "One entry for each thing that is wrong; empty where there is nothing more to say.",
    ]

    private static let published: JSONNode = [
        "type": "object", "additionalProperties": ["type": ["string", "number", "boolean"]],
        "description": "As published: an object of fields, each with what is wrong. On other routes it is a list.",
    ]

    private static let detail: JSONNode = [
        "type": "object", "required": ["field", "message"],
        "properties": [
            "field": [
                "type": "string", "description": "Path of the field in the request; empty when no single one is to blame.",
            ],
            "message": ["type": "string", "description": "What is wrong with it."],
        ],
    ]

    private static let reason: JSONNode = [
        "type": "string",
        "description": """
        What to act on: the same word on every route. It is `code`, but where that is `UNAUTHORIZED`: there it says why, as \
        `TOKEN_EXPIRED`.
        """,
    ]
}
