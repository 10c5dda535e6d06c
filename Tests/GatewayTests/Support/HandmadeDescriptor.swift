import Bus
import Cryptography
import Runtime
import Testing

/// A version of a service for tests: its descriptor, written without protoc, and the replicas that have it.
struct HandmadeDescriptor: Sendable {
    /// An RPC that takes and gives one message.
    struct Method: Sendable {
        var name: String
        var verb = "GET"
        var path: String
        var message = "Note"
        /// `streaksnap.options.v1.Auth`; 1 is anyone, 4 administrators, 6 services only.
        var auth: UInt64 = 1
        /// Further fields of `streaksnap.options.v1.MethodPolicy`.
        var policy: [UInt8] = []
    }

    /// A message with fields of text, or of bytes.
    struct Message: Sendable {
        var name = "Note"
        var fields = ["text"]
        /// Those of bytes.
        var bytes: Set<String> = []
        /// Those that are ids, which are UUIDs.
        var ids: Set<String> = []
        var comment = ""
    }

    /// `roll`.
    var service: String
    var methods: [Method]
    var messages = [Message()]

    private var package: String { "streaksnap.\(service).v1" }

    /// A `google.protobuf.FileDescriptorSet`.
    var bytes: [UInt8] {
        var file = Self.text(1, "\(service).proto") + Self.text(2, package)
        for message in messages {
            var body = Self.text(1, message.name)
            for (index, name) in message.fields.enumerated() {
                let number = Self.varint(3, UInt64(index + 1))
                let type: UInt64 = message.bytes.contains(name) ? 12 : 9
                let rules = message.ids.contains(name) ? Self.field(8, Self.field(50_001, Self.text(15, "Note"))) : []
                body += Self.field(2, Self.text(1, name) + number + Self.varint(4, 1) + Self.varint(5, type) + rules)
            }
            file += Self.field(4, body)
        }
        file += Self.field(6, Self.text(1, "Roll") + methods.flatMap { Self.field(2, method($0)) })
        let comments = messages.enumerated().filter { !$1.comment.isEmpty }.flatMap { index, message in
            Self.field(1, Self.field(1, [4, UInt8(index)]) + Self.text(3, " \(message.comment)\n"))
        }
        file += Self.field(9, comments) + Self.text(12, "proto3")
        return Self.field(1, file)
    }

    private func method(_ method: Method) -> [UInt8] {
        let verbs = ["GET": 2, "PUT": 3, "POST": 4, "DELETE": 5, "PATCH": 6]
        let rule = Self.text(verbs[method.verb] ?? 2, method.path) + (method.verb == "GET" ? [] : Self.text(7, "*"))
        let options = Self.field(72_295_728, rule) + Self.field(50_002, Self.varint(1, method.auth) + method.policy)
        let type = ".\(package).\(method.message)"
        return Self.text(1, method.name) + Self.text(2, type) + Self.text(3, type) + Self.field(4, options)
    }

    /// SHA-256 of the bytes.
    var hash: String {
        SHA256.hash(data: bytes).map { String(UInt32($0) + 256, radix: 16).dropFirst() }.joined()
    }

    /// A replica that gives back what it is given.
    ///
    /// - Parameters:
    ///   - claimed: the hash that it says its descriptor has; nil for the right one.
    ///   - key: signs its version and descriptor; nil: nothing does.
    ///   - reply: the text that it answers with instead.
    func replica(
        version: String,
        on bus: BusConnection,
        claimed: String? = nil,
        key: ServiceKey? = nil,
        reply answer: String? = nil
    ) throws -> BusService {
        let reply = Self.field(1, bytes) + Self.text(2, claimed ?? hash)
        let endpoints = methods.map {
            Endpoint(service: service, version: "v1", name: $0.name) { body, _ in
                answer.map { Self.text(1, $0) } ?? body
            }
        }
        var metadata = ["descriptor": claimed ?? hash]
        if let key {
            metadata[ServiceStatement.descriptorField] = try key.sign(
                .descriptor(service: service, version: version, sha256: claimed ?? hash)
            )
        }
        return BusService(
            connection: bus,
            name: service,
            version: version,
            metadata: metadata,
            endpoints: endpoints + [.descriptor(service: service, sha256: claimed ?? hash, reply: reply)],
            logger: EchoGateway.silence
        )
    }

    /// A field of bytes in protobuf's wire format.
    static func field(_ number: Int, _ bytes: [UInt8]) -> [UInt8] {
        plain(UInt64(number) << 3 | 2) + plain(UInt64(bytes.count)) + bytes
    }

    static func text(_ number: Int, _ text: String) -> [UInt8] { field(number, Array(text.utf8)) }

    static func varint(_ number: Int, _ value: UInt64) -> [UInt8] { plain(UInt64(number) << 3) + plain(value) }

    private static func plain(_ value: UInt64) -> [UInt8] {
        var (value, bytes) = (value, [UInt8]())
        while value > 0x7F {
            bytes.append(UInt8(value & 0x7F) | 0x80)
            value >>= 7
        }
        return bytes + [UInt8(value)]
    }

    /// A new key of a service.
    static func key() throws -> ServiceKey { try #require(ServiceKey(settingText: Ed25519.PrivateKey().pem())) }
}
