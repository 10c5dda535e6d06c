internal import FoundationEssentials
internal import Kernel

/// The JSON of JetStream's own requests and replies (ADR-1, ADR-13, and the schemas of `io.nats.jetstream.api.v1`).
enum JetStreamCodec {
    struct Failure: Decodable {
        let code: Int
        let errorCode: Int?
        let description: String?

        enum CodingKeys: String, CodingKey {
            case code, description
            case errorCode = "err_code"
        }
    }

    struct Envelope: Decodable {
        let error: Failure?
    }

    struct StreamState: Decodable {
        let created: String
        let state: State

        struct State: Decodable {
            let messages: Int
            let bytes: Int
            let first: Int
            let last: Int
            let consumers: Int

            enum CodingKeys: String, CodingKey {
                case messages, bytes
                case first = "first_seq"
                case last = "last_seq"
                case consumers = "consumer_count"
            }
        }
    }

    struct ConsumerState: Decodable {
        let delivered: Sequences
        let pending: Int
        let waiting: Int

        struct Sequences: Decodable {
            let consumer: Int
            let stream: Int

            enum CodingKeys: String, CodingKey {
                case consumer = "consumer_seq"
                case stream = "stream_seq"
            }
        }

        var info: ConsumerInfo {
            ConsumerInfo(
                delivered: delivered.consumer,
                deliveredStreamSequence: delivered.stream,
                pending: pending,
                waiting: waiting
            )
        }

        enum CodingKeys: String, CodingKey {
            case delivered
            case pending = "num_pending"
            case waiting = "num_waiting"
        }
    }

    struct Ack: Decodable {
        let stream: String
        let seq: Int
        let duplicate: Bool?
    }

    struct Stream: Encodable {
        let name: String
        let subjects: [String]
        let retention = "limits"
        let discard = "old"
        let storage: String
        let replicas: Int
        let maxAge: Int64
        let maxMessages: Int
        let maxBytes: Int
        let duplicateWindow: Int64
        let denyDelete: Bool
        let denyPurge: Bool

        init(_ configuration: StreamConfiguration) {
            name = configuration.name
            subjects = configuration.subjects
            storage = configuration.storage.rawValue
            replicas = configuration.replicas
            maxAge = configuration.maxAge.nanoseconds
            maxMessages = configuration.maxMessages ?? -1
            maxBytes = configuration.maxBytes ?? -1
            (denyDelete, denyPurge) = (configuration.keepsMessages, configuration.keepsMessages)
            let window = configuration.duplicateWindow.nanoseconds
            duplicateWindow = maxAge > 0 ? min(window, maxAge) : window
        }

        enum CodingKeys: String, CodingKey {
            case name, subjects, retention, discard, storage
            case replicas = "num_replicas"
            case maxAge = "max_age"
            case maxMessages = "max_msgs"
            case maxBytes = "max_bytes"
            case duplicateWindow = "duplicate_window"
            case denyDelete = "deny_delete"
            case denyPurge = "deny_purge"
        }
    }

    struct ConsumerRequest<Configuration: Encodable>: Encodable {
        let stream: String
        let config: Configuration

        enum CodingKeys: String, CodingKey {
            case stream = "stream_name"
            case config
        }
    }

    /// A consumer that delivers from the beginning, without acknowledgement.
    struct Reader: Encodable {
        let durable: String
        let deliver = "all"
        let ack = "none"
        let replay = "instant"
        let maxWaiting = 512

        enum CodingKeys: String, CodingKey {
            case durable = "durable_name"
            case deliver = "deliver_policy"
            case ack = "ack_policy"
            case replay = "replay_policy"
            case maxWaiting = "max_waiting"
        }
    }

    struct Pull: Encodable {
        let batch: Int
        let expires: Int64
        let heartbeat: Int64

        enum CodingKeys: String, CodingKey {
            case batch, expires
            case heartbeat = "idle_heartbeat"
        }
    }

    struct Delay: Encodable {
        let delay: Int64
    }

    static func encode(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }

    private static let ackStart = Array(#"{"stream":""#.utf8)
    private static let ackMiddle = Array(#"seq":"#.utf8)

    /// The reply to a stored message, as brokers write it: `{"stream":"EVT_AUTH", "seq":7}`. Nil for any other JSON. There is one
    /// for every event, and a JSON decoder would be its largest cost.
    static func plainAck(_ body: [UInt8]) -> PublishAck? {
        let quote = UInt8(ascii: "\"")
        guard body.starts(with: ackStart), body.last == UInt8(ascii: "}"),
            let nameEnd = body[ackStart.count...].firstIndex(of: quote),
            let key = body[(nameEnd + 1)...].firstIndex(of: quote),
            body[nameEnd + 1] == UInt8(ascii: ","), body[(nameEnd + 2)..<key].allSatisfy({ $0 == UInt8(ascii: " ") }),
            body[(key + 1)...].starts(with: ackMiddle)
        else { return nil }
        let name = body[ackStart.count..<nameEnd]
        let digits = body[(key + 1 + ackMiddle.count)..<(body.count - 1)]
        guard !name.contains(UInt8(ascii: "\\")), (1...18).contains(digits.count), digits.allSatisfy({ (48...57).contains($0) })
        else { return nil }
        let sequence = digits.reduce(0) { $0 * 10 + Int($1 - 48) }
        return PublishAck(stream: String(decoding: name, as: UTF8.self), sequence: sequence, isDuplicate: false)
    }

    /// The reply to a request of the API.
    ///
    /// - Throws: `JetStreamError` when the broker refused, `ServiceError` when the reply is invalid.
    static func decode<Value: Decodable>(_: Value.Type, _ reply: BusMessage) throws -> Value {
        let data = Data(reply.body)
        let decoder = JSONDecoder()
        do {
            if let failure = try decoder.decode(Envelope.self, from: data).error {
                throw JetStreamError(
                    status: failure.code,
                    code: failure.errorCode ?? 0,
                    message: failure.description ?? "no description"
                )
            }
            return try decoder.decode(Value.self, from: data)
        } catch is DecodingError {
            throw ServiceError.unavailable("The event stream sent an invalid reply.")
        }
    }
}

/// The broker refused a JetStream request.
public struct JetStreamError: Error, Equatable, CustomStringConvertible {
    /// HTTP-like: 400, 404, 503.
    public let status: Int
    /// The broker's error number: 10059 stream not found, 10037 no message with that sequence number.
    public let code: Int
    /// The broker's message.
    public let message: String

    public var description: String { "JetStream: \(message) (\(status), \(code))" }

    static let streamNotFound = 10_059
    static let messageNotFound = 10_037
    /// The consumer of that name has a configuration that cannot be changed.
    static let consumerDiffers = 10_012
    static let streamNameInUse = 10_058
    /// The stream's last message is not the one that `Nats-Expected-Last-Subject-Sequence` names: another client published before.
    public static let wrongLastSequence = 10_071
}

extension Interval {
    var nanoseconds: Int64 { microseconds.multipliedReportingOverflow(by: 1_000).partialValue }
}
