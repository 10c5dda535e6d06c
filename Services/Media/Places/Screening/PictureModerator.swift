internal import BlobStore
internal import Kernel
internal import Logging
internal import MediaDomain
internal import OutgoingHTTP
internal import Wire

/// A moderator of pictures that speaks Rekognition's DetectModerationLabels (PL-5): JSON 1.1 by POST, signed with SigV4.
struct PictureModerator: Sendable {
    /// How long a post waits for it. No answer by then is none.
    static let standardTimeout = Interval.seconds(5)
    /// Most bytes of a picture that the protocol takes.
    static let mostBytes = 5 << 20
    static let target = "RekognitionService.DetectModerationLabels"
    static let contentType = "application/x-amz-json-1.1"

    /// What it says.
    enum Answer: Sendable {
        case labels([ModerationLabel])
        /// Why there is none: for the log.
        case unreachable(String)
    }

    let address: ModeratorAddress
    var timeout = standardTimeout
    let signer: SigV4
    let http: OutgoingHTTP
    let logger: Logger

    /// What a picture shows.
    ///
    /// - Parameter picture: JPEG or PNG.
    func labels(of picture: [UInt8]) async throws -> Answer {
        guard picture.count <= Self.mostBytes else { return .unreachable("the picture has \(picture.count) bytes") }
        let request = signed(Self.body(of: picture))
        do {
            // With the time in the queue of exchanges.
            let reply = try await withTimeLimit(.microseconds(timeout.microseconds)) { [http] in
                try await http.send(request)
            }
            return answer(reply)
        } catch let error as CancellationError {
            throw error
        } catch {
            // Every failure to ask is one: the network, the time, too many exchanges at once.
            return .unreachable("\(error)")
        }
    }

    private func signed(_ body: [UInt8]) -> OutgoingHTTP.Request {
        let headers = [("Content-Type", Self.contentType), ("X-Amz-Target", Self.target)]
        let request = SigV4.Request("POST", scheme: address.scheme, host: address.host, path: address.path, headers: headers)
        let added = signer.headers(for: request, payloadHash: SigV4.hash(body), now: SystemClock.now())
        return OutgoingHTTP.Request(
            "POST",
            request.url,
            headers: headers + added,
            body: body,
            timeout: timeout,
            mostBytes: 256 << 10
        )
    }

    /// `{"Image":{"Bytes":"…"},"MinConfidence":50}`
    static func body(of picture: [UInt8]) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.name("Image")
        json.beginObject()
        json.name("Bytes")
        json.string(Base64.encode(picture))
        json.endObject()
        json.name("MinConfidence")
        json.integer(Int(ScreeningRule.leastConfidence))
        json.endObject()
        return json.drain()
    }

    private func answer(_ reply: OutgoingHTTP.Reply) -> Answer {
        guard reply.status == 200 else {
            let kind = ModeratorReply.errorType(reply.body) ?? "no type"
            // Throttling passes. What else it refuses is for the operator: a wrong key, for example.
            if reply.status < 500, reply.status != 429, !ModeratorReply.throttling.contains(kind) {
                logger.error(
                    "the moderator of pictures refuses requests",
                    metadata: ["status": "\(reply.status)", "type": "\(kind)"]
                )
            }
            return .unreachable("status \(reply.status), \(kind)")
        }
        guard let labels = ModeratorReply.labels(reply.body) else { return .unreachable("not a reply of DetectModerationLabels") }
        return .labels(labels)
    }
}

/// What the moderator sends.
enum ModeratorReply {
    /// Errors that pass by themselves.
    static let throttling: Set<String> = [
        "ThrottlingException", "ProvisionedThroughputExceededException", "LimitExceededException", "RequestLimitExceeded",
    ]
    private static let limits = JSONReader.Limits(depth: 8, members: 50, stringBytes: 1_000, values: 20_000)

    /// The labels of a reply; nil when it is none.
    static func labels(_ body: [UInt8]) -> [ModerationLabel]? {
        var json = JSONReader(body, limits: limits)
        do {
            var labels: [ModerationLabel]?
            try json.beginObject()
            while let name = try json.nextName() {
                guard name == "ModerationLabels" else { continue }
                var found: [ModerationLabel] = []
                try json.beginArray()
                while try json.nextElement() { found.append(try label(&json)) }
                labels = found
            }
            try json.finish()
            return labels
        } catch {
            return nil
        }
    }

    private static func label(_ json: inout JSONReader) throws(JSONProblem) -> ModerationLabel {
        var (name, parent, confidence) = ("", "", 0.0)
        try json.beginObject()
        while let member = try json.nextName() {
            switch member {
            case "Name": name = try json.string()
            case "ParentName": if try json.kind() == .string { parent = try json.string() }
            case "Confidence": confidence = try json.number()
            default: break
            }
        }
        return ModerationLabel(name, of: parent, confidence)
    }

    /// The name of an error, without its namespace: `com.amazon.coral#ThrottlingException`.
    static func errorType(_ body: [UInt8]) -> String? {
        var json = JSONReader(body, limits: limits)
        do {
            try json.beginObject()
            while let name = try json.nextName() {
                if name == "__type" { return try json.string().split(separator: "#").last.map(String.init) }
            }
        } catch { return nil }
        return nil
    }
}
