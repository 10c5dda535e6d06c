/// What is wrong with a descriptor set.
public struct DescriptorError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file, message, field, enum or method that is wrong; empty when it is the set itself.
    public let element: String
    /// What is wrong with it, in English.
    public let problem: String

    public var description: String { element.isEmpty ? problem : "\(element): \(problem)" }
}

/// The type of a field. Raw values are those of `google.protobuf.FieldDescriptorProto.Type`; `timestamp` is ours.
public enum FieldKind: UInt8, Sendable {
    case double = 1
    case float = 2
    case int64 = 3
    case uint64 = 4
    case int32 = 5
    case fixed64 = 6
    case fixed32 = 7
    case bool = 8
    case string = 9
    case message = 11
    case bytes = 12
    case uint32 = 13
    case enumeration = 14
    case sfixed32 = 15
    case sfixed64 = 16
    case sint32 = 17
    case sint64 = 18
    /// `google.protobuf.Timestamp`, which is RFC 3339 text in JSON.
    case timestamp = 19
}

/// How often a field occurs and whether absent and default differ.
public enum FieldShape: UInt8, Sendable {
    /// A proto3 scalar: never absent, the default value when not sent.
    case scalar
    /// A message, a proto3 `optional`, or a member of a oneof: `null` in JSON when absent.
    case optional
    /// A JSON array.
    case repeated
    /// A JSON object.
    case map
}

/// A field of a message.
public struct FieldDescriptor: Sendable {
    /// The proto's own name, which is also the JSON name.
    public internal(set) var name = ""
    public internal(set) var number: UInt32 = 0
    public internal(set) var kind: FieldKind = .string
    public internal(set) var shape: FieldShape = .scalar
    /// Full name of the message or enum type; empty for scalars.
    public internal(set) var typeName = ""
    /// Position in the message's `oneofs`; nil when it is in none.
    public internal(set) var oneof: Int?
    /// The `//` comment above it, as published: without ids of rules.
    public internal(set) var comment = ""
    public internal(set) var rules = FieldRules()
    public internal(set) var isDeprecated = false

    var isRepeated = false
    var isProto3Optional = false
    var isPacked: Bool?
    var isRequired = false
    /// Position of the type in the set's messages or enums.
    var typeIndex = -1
}

/// A message type.
public struct MessageDescriptor: Sendable {
    public internal(set) var fullName = ""
    public internal(set) var comment = ""
    /// In the order of the file.
    public internal(set) var fields: [FieldDescriptor] = []
    /// Names of the oneofs; those that only carry a proto3 `optional` have no members here.
    public internal(set) var oneofs: [String] = []
    public internal(set) var isMapEntry = false
    /// The field that names an event's aggregate; nil when the message is no event.
    public internal(set) var eventAggregate: String?

    /// Entries on a page, when the message is the request of a list: without a `limit`, and at most.
    var pageSize: (standard: UInt32, most: UInt32)?
    var isProto3 = false
}

/// An enum type.
public struct EnumDescriptor: Sendable {
    /// One value of an enum.
    public struct Value: Sendable {
        /// Lower case, without the enum's prefix: `ACCOUNT_STATUS_ACTIVE` is `active`.
        public internal(set) var jsonName = ""
        public internal(set) var number: Int32 = 0
        public internal(set) var comment = ""

        /// Whether it is the one that stands for none, `…_UNSPECIFIED`: no value of the API.
        var isUnspecified: Bool { number == 0 && jsonName == "unspecified" }
    }

    public internal(set) var fullName = ""
    public internal(set) var comment = ""
    /// In the order of the file; aliases share a number.
    public internal(set) var values: [Value] = []
}

/// A service of a proto package.
public struct ServiceDescriptor: Sendable {
    /// `streaksnap.auth.v1.Auth`.
    public internal(set) var fullName = ""
    /// `streaksnap.auth.v1`.
    public internal(set) var package = ""
    public internal(set) var comment = ""
    public internal(set) var methods: [MethodDescriptor] = []
}

/// An RPC.
public struct MethodDescriptor: Sendable {
    public internal(set) var name = ""
    public internal(set) var comment = ""
    /// Full name of the request message.
    public internal(set) var requestType = ""
    /// Full name of the reply message.
    public internal(set) var replyType = ""
    public internal(set) var policy = MethodPolicy()
    /// The `google.api.http` rule and its additional bindings, in order; empty when the method is not on HTTP.
    public internal(set) var bindings: [HTTPBinding] = []
    public internal(set) var isDeprecated = false

    var isStreaming = false
}

/// One HTTP route of a method, as annotated.
public struct HTTPBinding: Hashable, Sendable {
    /// `GET`, `PUT`, `POST`, `DELETE` or `PATCH`.
    public internal(set) var verb = ""
    /// The path template, `/api/streaks/{streak_id}`.
    public internal(set) var template = ""
    /// `*`, the name of a field, or empty for no body.
    public internal(set) var body = ""

    var unsupported: String?
}

/// `streaksnap.options.v1.FieldRules`, for the OpenAPI page; services check them. The gateway only refuses an empty text where there is a
/// form: to a service it is none.
public struct FieldRules: Hashable, Sendable {
    /// `streaksnap.options.v1.Format`.
    public enum Format: Int32, Sendable {
        case unspecified, uuid, email, date, month, timeZone, uri, username, version
    }

    public internal(set) var required = false
    public internal(set) var minLength: UInt32?
    public internal(set) var maxLength: UInt32?
    public internal(set) var minBytes: UInt32?
    public internal(set) var maxBytes: UInt32?
    public internal(set) var atLeast: Int64?
    public internal(set) var atMost: Int64?
    public internal(set) var oneOf: [String] = []
    public internal(set) var minItems: UInt32?
    public internal(set) var maxItems: UInt32?
    public internal(set) var format = Format.unspecified
    /// Whether `format` is that of the service's own type for the text. Of replies it is not shown.
    var isTyped = false
    public internal(set) var secret = false
    /// A value for the OpenAPI page to show; empty when none is declared, `null` when there is none in its examples.
    public internal(set) var example = ""
    /// What the page shows beside them.
    public internal(set) var shown = ShownRules()
}

/// `streaksnap.options.v1.ShownRules`: what a handler checks itself, and the only values that it answers.
public struct ShownRules: Hashable, Sendable {
    public internal(set) var required = false
    /// A regular expression; empty when none is declared.
    public internal(set) var pattern = ""
    /// Numbers are written as in JSON.
    public internal(set) var oneOf: [String] = []
}

/// `streaksnap.options.v1.MethodPolicy` with its defaults filled in.
public struct MethodPolicy: Hashable, Sendable {
    /// Who may call a method.
    public enum Auth: Int32, Sendable {
        case none = 1
        case guest = 2
        /// Signed-in users: the default.
        case user = 3
        case admin = 4
        /// The handler compares a shared secret itself.
        case secret = 5
        /// Other services only: never routed.
        case `internal` = 6
    }

    /// Whether browsers open it by a link, as a page or picture: it is public, and the reply is no JSON. Networks append parameters of their
    /// own to links that people share, so unknown ones count for nothing here.
    public var isPage: Bool { auth == .none && body != nil }

    /// A multipart part that becomes a blob.
    public struct Upload: Hashable, Sendable {
        /// Name of the part that holds the file.
        public internal(set) var part = ""
        /// Name of the request's field that is filled with the blob's key and facts.
        public internal(set) var field = ""
        /// Most bytes accepted.
        public internal(set) var maxBytes: UInt64 = 0
        /// Name of the request's field that may name a file that was sent before; empty where none does.
        public internal(set) var instead = ""
    }

    /// A request whose body goes to the handler unread.
    public struct Raw: Hashable, Sendable {
        /// Name of the request's field that takes the body.
        public internal(set) var field = ""
        /// Most bytes accepted.
        public internal(set) var maxBytes: UInt64 = 0
        /// Headers that fill fields.
        public internal(set) var headers: [Header] = []

        /// A header that fills a field.
        public struct Header: Hashable, Sendable {
            /// The header's name, in lower case.
            public internal(set) var name = ""
            /// The field's name.
            public internal(set) var field = ""
        }
    }

    /// Server-sent events of the caller's own.
    public struct Stream: Hashable, Sendable {
        /// Bus subject of the events, with `{user_id}` in it.
        public internal(set) var subject = ""
        /// Name of the method that renews leases.
        public internal(set) var renew = ""
        /// The events that there are; none when they are not declared.
        public internal(set) var kinds: [Kind] = []

        /// A kind of event.
        public struct Kind: Hashable, Sendable {
            /// `event` of the stream.
            public internal(set) var name = ""
            /// Full name of the message that its `data` is, as JSON.
            public internal(set) var data = ""
        }
    }

    /// A reply whose bytes are sent as they are, or a redirect.
    public struct Body: Hashable, Sendable {
        /// Field of the reply (bytes or string) that holds the body.
        public internal(set) var field = ""
        /// Field of the reply that holds the media type; empty means `contentType`.
        public internal(set) var contentTypeField = ""
        public internal(set) var contentType = ""
        /// Field of the reply that holds a URL to redirect to (302) when it is not empty.
        public internal(set) var redirectField = ""
        /// Field of the reply that holds the key of a blob to send when it is not empty.
        public internal(set) var blobField = ""
        /// Field of the reply that holds the HTTP status; 0 means that of a success.
        public internal(set) var statusField = ""
        /// Headers of every such reply.
        public internal(set) var headers: [Header] = []
        /// What was declared as a header and is none that may be sent.
        var refusedHeaders: [String] = []

        /// One header.
        public struct Header: Hashable, Sendable {
            /// A token of RFC 9110 and visible ASCII with spaces.
            public let name, value: String

            /// From `Name: value`; nil when it is none, and for headers that are HTTP's own business, would sign a user in, or hold
            /// for more than the reply.
            init?(_ text: String) {
                let parts = text.split(separator: ":", maxSplits: 1)
                guard parts.count == 2,
                    parts[0].utf8.allSatisfy({ byte in byte == 45 || (65...90).contains(byte) || (97...122).contains(byte) }),
                    text.utf8.allSatisfy({ (32...126).contains($0) })
                else { return nil }
                let value = parts[1].drop { $0 == " " }
                guard !value.isEmpty, !Self.reserved.contains(parts[0].lowercased()) else { return nil }
                self.name = String(parts[0])
                self.value = String(value)
            }

            private static let reserved: Set<String> = [
                "alt-svc", "clear-site-data", "connection", "content-length", "content-type", "location", "refresh",
                "service-worker-allowed", "set-cookie", "strict-transport-security", "transfer-encoding", "x-request-id",
            ]
        }
    }

    public internal(set) var auth = Auth.user
    /// May be retried.
    public internal(set) var idempotent = false
    /// Budget of one call in milliseconds.
    public internal(set) var timeoutMilliseconds: UInt32 = 10_000
    /// Of these parts a form has one at most.
    public internal(set) var uploads: [Upload] = []
    public internal(set) var body: Body?
    /// The reply is a stream of server-sent events; nil for ordinary methods.
    public internal(set) var stream: Stream?
    /// The request's body is not JSON; nil for ordinary methods.
    public internal(set) var raw: Raw?
    /// Not counted against the rate limits.
    public internal(set) var unlimited = false
    /// HTTP status of a success.
    public internal(set) var successStatus: UInt32 = 200
    /// The reply goes out without the envelope.
    public internal(set) var bare = false
    /// As how many requests one counts against the rate limits.
    public internal(set) var cost: UInt32 = 1
    /// What its handler may refuse: values of `error.code`.
    public internal(set) var reasons: [String] = []
    /// The bodies follow a published interface to the letter.
    public internal(set) var exact = false
    /// Field of the reply that makes the status 202 where it is set; empty for most methods.
    public internal(set) var acceptedField = ""
}
