public import Kernel

/// A stream: its subjects and limits.
public struct StreamConfiguration: Sendable, Equatable {
    /// Where messages are kept.
    public enum Storage: String, Sendable {
        /// On disk.
        case file
        /// Until the broker stops.
        case memory
    }

    /// `EVT_AUTH`.
    public var name: String
    /// Its subjects: `evt.auth.>`.
    public var subjects: [String]
    /// How long a message is kept; zero means for ever. Default 7 days.
    public var maxAge: Interval
    /// How many messages are kept, the newest ones; nil: no limit.
    public var maxMessages: Int?
    /// How many bytes are kept; nil: no limit.
    public var maxBytes: Int?
    /// Where messages are kept. Default on disk.
    public var storage: Storage
    /// How long a message id is remembered, so that a repeat is dropped. Default 2 minutes; never longer than `maxAge`.
    public var duplicateWindow: Interval
    /// How many brokers of a cluster store it: 1, 3 or 5. Default 1.
    public var replicas: Int
    /// Whether messages leave by its limits only, and no request purges it or removes one. Never taken back: the broker refuses that. Default no.
    ///
    /// Who may read a stream can have the broker's answer sent to any subject, also to the API's own, as a request with the broker's rights.
    public var keepsMessages: Bool

    /// A stream of these parts.
    public init(
        name: String,
        subjects: [String],
        maxAge: Interval = .days(7),
        maxMessages: Int? = nil,
        maxBytes: Int? = nil,
        storage: Storage = .file,
        duplicateWindow: Interval = .minutes(2),
        replicas: Int = 1,
        keepsMessages: Bool = false
    ) {
        self.name = name
        self.subjects = subjects
        self.maxAge = maxAge
        self.maxMessages = maxMessages
        self.maxBytes = maxBytes
        self.storage = storage
        self.duplicateWindow = duplicateWindow
        self.replicas = replicas
        self.keepsMessages = keepsMessages
    }
}

/// The state of a stream.
public struct StreamInfo: Sendable, Equatable {
    /// When the broker made it: another instant means another stream of the same name.
    public let created: Instant
    /// How many messages it has.
    public let messages: Int
    /// How many bytes they use.
    public let bytes: Int
    /// The sequence of the oldest message.
    public let firstSequence: Int
    /// The sequence of the newest message.
    public let lastSequence: Int
    /// How many consumers it has.
    public let consumers: Int

    /// The state of a stream; by default of one that has no messages and no consumers.
    public init(
        created: Instant,
        messages: Int = 0,
        bytes: Int = 0,
        firstSequence: Int = 1,
        lastSequence: Int = 0,
        consumers: Int = 0
    ) {
        self.created = created
        self.messages = messages
        self.bytes = bytes
        self.firstSequence = firstSequence
        self.lastSequence = lastSequence
        self.consumers = consumers
    }
}

/// The state of a durable consumer.
public struct ConsumerInfo: Sendable, Equatable {
    /// The number of its last delivery (`JetStreamMessage.consumerSequence`); 0 before the first.
    public let delivered: Int
    /// The last message of the stream that it has passed.
    public let deliveredStreamSequence: Int
    /// Messages that were not delivered yet: the lag.
    public let pending: Int
    /// Pull requests that are open at the broker.
    public let waiting: Int
}

/// The broker's confirmation that it has stored a message.
public struct PublishAck: Sendable, Equatable {
    /// The stream that has it.
    public let stream: String
    /// Its sequence number there.
    public let sequence: Int
    /// Whether the stream already had a message with this id and dropped this one.
    public let isDuplicate: Bool
}

/// A message to publish to a stream.
public struct OutgoingEvent: Sendable, Equatable {
    /// `evt.auth.v1.ProfileChanged`.
    public var subject: String
    /// The id of the message: a repeat within the stream's duplicate window is dropped. nil: none.
    public var messageID: String?
    /// Further headers.
    public var headers: BusHeaders
    /// The payload.
    public var body: [UInt8]

    /// A message of these parts.
    public init(subject: String, messageID: String?, headers: BusHeaders = [:], body: [UInt8]) {
        self.subject = subject
        self.messageID = messageID
        self.headers = headers
        self.body = body
    }
}
