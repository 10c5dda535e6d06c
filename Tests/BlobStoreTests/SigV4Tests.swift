import Cryptography
import Foundation
import Kernel
import Processes
import TestSupport
import Testing

@testable import BlobStore

/// Signatures against what AWS publishes, and against botocore.
@Suite(.timeLimit(.minutes(10)))
struct SigV4Tests {
    private static let example = SigV4(
        credentials: SigV4.Credentials(keyID: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        region: "us-east-1"
    )
    private static let host = "examplebucket.s3.amazonaws.com"

    private func now() throws -> Instant { try #require(Instant(rfc3339: "2013-05-24T00:00:00Z")) }

    /// “Authenticating Requests: Using Query Parameters” of the S3 API reference.
    @Test func `the link of AWS's example`() throws {
        let link = Self.example.link(to: .init("GET", host: Self.host, path: "/test.txt"), seconds: 86_400, now: try now())
        #expect(
            link == """
                https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256\
                &X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z\
                &X-Amz-Expires=86400&X-Amz-SignedHeaders=host\
                &X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404
                """
        )
    }

    /// “Signature Calculations for the Authorization Header: Transferring Payload in a Single Chunk”.
    @Test func `the headers of AWS's examples`() throws {
        let examples: [(SigV4.Request, body: String, names: String, signature: String)] = [
            (
                .init("GET", host: Self.host, path: "/test.txt", headers: [("Range", "bytes=0-9")]), "",
                "host;range;x-amz-content-sha256;x-amz-date",
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
            ),
            (
                .init(
                    "PUT",
                    host: Self.host,
                    path: "/test$file.text",
                    headers: [("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")]
                ),
                "Welcome to Amazon S3.", "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
                "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
            ),
            (
                .init("GET", host: Self.host, path: "/", query: [("lifecycle", "")]), "", "host;x-amz-content-sha256;x-amz-date",
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
            ),
            (
                .init("GET", host: Self.host, path: "/", query: [("prefix", "J"), ("max-keys", "2")]), "",
                "host;x-amz-content-sha256;x-amz-date",
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
            ),
        ]
        for (request, body, names, signature) in examples {
            let headers = Self.example.headers(for: request, payloadHash: SigV4.hash(Array(body.utf8)), now: try now())
            #expect(
                headers.last?.value == """
                    AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, \
                    SignedHeaders=\(names), Signature=\(signature)
                    """
            )
        }
    }

    @Test func `botocore signs the same requests of another service`() async throws {
        var random = Dice(seed: 13)
        let comparisons = (0..<100).map { number -> Comparison in
            let region = random.pick(["us-east-1", "eu-central-1"])
            let secret = random.text(upTo: 40, of: Dice.base64)
            let token = random.below(3) == 0 ? random.text(upTo: 40, of: Dice.base64) + "=" : nil
            let time = Int64(random.below(4_000_000_000))
            let body = "{\"Image\":{\"Bytes\":\"\(random.text(upTo: 50, of: Dice.base64))\"},\"MinConfidence\":50}"
            let request = SigV4.Request(
                "POST",
                host: "rekognition.\(region).amazonaws.com",
                path: "/",
                headers: [
                    ("Content-Type", "application/x-amz-json-1.1"), ("X-Amz-Target", "RekognitionService.DetectModerationLabels"),
                ]
            )
            let signer = SigV4(
                credentials: SigV4.Credentials(keyID: "AKIA\(number)", secret: secret, sessionToken: token),
                region: region,
                service: "rekognition"
            )
            let added = signer.headers(for: request, payloadHash: SigV4.hash(Array(body.utf8)), now: Instant(seconds: time))
            var asked: [String: Any] = [
                "service": "rekognition", "method": request.method, "scheme": request.scheme, "host": request.host,
                "path": request.path, "body": body, "query": [[String]](),
                "headers": request.headers.map { [$0.name, $0.value] },
                "region": region, "key_id": "AKIA\(number)", "secret": secret, "time": time,
            ]
            if let token { asked["token"] = token }
            return Comparison(asked: asked, ours: added.last?.value ?? "")
        }
        for (theirs, comparison) in zip(try await botocore(comparisons), comparisons) {
            #expect(comparison.ours == theirs, "\(comparison.line)")
        }
    }

    @Test func `every other key, time, header and link has another signature`() throws {
        let request = SigV4.Request("GET", host: Self.host, path: "/test.txt")
        let now = try now()
        var changed = request
        changed.path = "/Test.txt"
        let other = SigV4(credentials: SigV4.Credentials(keyID: "AKIAIOSFODNN7EXAMPLE", secret: "x"), region: "us-east-1")
        let links = [
            Self.example.link(to: request, seconds: 60, now: now), Self.example.link(to: request, seconds: 61, now: now),
            Self.example.link(to: request, seconds: 60, now: now + .seconds(1)),
            Self.example.link(to: changed, seconds: 60, now: now), other.link(to: request, seconds: 60, now: now),
        ]
        #expect(Set(links.map { $0.suffix(64) }).count == links.count)
    }

    @Test func `credentials do not show their secret`() {
        let credentials = SigV4.Credentials(keyID: "AKIA", secret: "hidden-one", sessionToken: "hidden-two")
        var dumped = ""
        dump(credentials, to: &dumped)
        let store = SigV4(credentials: credentials, region: "us-east-1")
        for text in ["\(credentials)", String(reflecting: credentials), dumped, "\(store)", String(reflecting: store)] {
            #expect(!text.contains("hidden"), "\(text)")
        }
    }

    /// What is asked of botocore, and what we answer to the same.
    private struct Comparison {
        var asked: [String: Any]
        var ours: String
        var line: String { "\(asked)" }
    }

    private func botocore(_ comparisons: [Comparison]) async throws -> [String] {
        let input = try JSONSerialization.data(withJSONObject: comparisons.map(\.asked))
        let result = try await run(
            try await PythonPackages.s3.value,
            [PythonPackages.script("sign.py")],
            input: Array(input)
        )
        try #require(result.status == 0, "\(result.errors)")
        return try JSONDecoder().decode([String].self, from: Data(result.output))
    }

    @Test func `botocore's presigner makes the same links`() async throws {
        var random = Dice(seed: 7)
        let comparisons = try (0..<300).map { number in try link(number, &random) }
        for (theirs, comparison) in zip(try await botocore(comparisons), comparisons) {
            let (place, query) = parts(comparison.ours)
            let (theirPlace, theirQuery) = parts(theirs)
            #expect(place == theirPlace && query == theirQuery, "\(comparison.line)")
        }
    }

    private func parts(_ link: String) -> (String, Set<Substring>) {
        let halves = link.split(separator: "?", maxSplits: 1)
        return (String(halves[0]), Set(halves[1].split(separator: "&")))
    }

    private func link(_ number: Int, _ random: inout Dice) throws -> Comparison {
        let endpoint = random.pick([
            "https://s3.eu-central-1.amazonaws.com", "http://127.0.0.1:9000", "https://minio.example.com:9443",
        ])
        let pathStyle = endpoint.contains("127") || random.below(2) == 0
        let region = random.pick(["us-east-1", "eu-central-1", "ap-southeast-2"])
        let address = try S3Address(endpoint: endpoint, region: region, bucket: "photo-bucket", pathStyle: pathStyle)
        // botocore drops what leads and doubles slashes, which no key of ours has.
        let key = "k" + random.text(upTo: 60, of: Dice.keyLetters)
        let token = random.below(3) == 0 ? random.text(upTo: 40, of: Dice.base64) + "=" : nil
        let (seconds, time) = (1 + Int64(random.below(604_800)), Int64(random.below(4_000_000_000)))
        let isPut = random.below(3) == 0
        var request = SigV4.Request(
            isPut ? "PUT" : "GET",
            scheme: address.scheme,
            host: address.host,
            path: address.root + key
        )
        var parameters: [String: Any] = [:]
        if isPut {
            parameters["ContentType"] = "image/png; q=\(number)"
            request.headers.append(("Content-Type", "image/png; q=\(number)"))
            if random.below(2) == 0 {
                // An announced file (PL-1): its length and checksum are signed too.
                let (size, checksum) = (random.below(200_000_000), SHA256.hash(data: Array("\(number)".utf8)))
                parameters["ContentLength"] = size
                parameters["ChecksumSHA256"] = Data(checksum).base64EncodedString()
                request.headers += [
                    ("content-length", "\(size)"), ("x-amz-checksum-sha256", Base64.encode(Array(checksum))),
                ]
            }
        } else if random.below(2) == 0 {
            let name = "attachment; filename=\"\(random.text(upTo: 20, of: Dice.keyLetters))\""
            parameters["ResponseContentDisposition"] = name
            request.query.append(("response-content-disposition", name))
        }
        let secret = random.text(upTo: 40, of: Dice.base64)
        let signer = SigV4(
            credentials: SigV4.Credentials(keyID: "AKIA\(number)", secret: secret, sessionToken: token),
            region: region
        )
        var asked: [String: Any] = [
            "operation": isPut ? "put_object" : "get_object", "endpoint": endpoint, "region": region, "key_id": "AKIA\(number)",
            "secret": secret, "path_style": pathStyle, "bucket": "photo-bucket", "key": key, "parameters": parameters,
            "seconds": seconds, "time": time,
        ]
        if let token { asked["token"] = token }
        return Comparison(asked: asked, ours: signer.link(to: request, seconds: seconds, now: Instant(seconds: time)))
    }

    @Test func `botocore signs the same headers`() async throws {
        var random = Dice(seed: 11)
        let comparisons = (0..<300).map { number -> Comparison in
            let region = random.pick(["us-east-1", "eu-central-1"])
            let secret = random.text(upTo: 40, of: Dice.base64)
            let token = random.below(3) == 0 ? random.text(upTo: 40, of: Dice.base64) + "=" : nil
            let time = Int64(random.below(4_000_000_000))
            let body = random.text(upTo: 50, of: Dice.keyLetters)
            let request = SigV4.Request(
                random.pick(["GET", "PUT", "HEAD", "DELETE"]),
                scheme: random.pick(["http", "https"]),
                host: random.pick(["bucket.s3.example.com", "127.0.0.1:9000"]),
                path: "/" + random.text(upTo: 50, of: Dice.keyLetters),
                query: (0..<random.below(4)).map {
                    ("\(random.pick(["a", "B", "x-id", "Ä b"]))\($0)", random.text(upTo: 20, of: Dice.keyLetters))
                },
                headers: (0..<random.below(4)).map {
                    (
                        "\(random.pick(["Range", "x-amz-Meta", "If-Match"]))\($0)",
                        "  v " + random.text(upTo: 20, of: Dice.headerLetters) + "  w "
                    )
                }
            )
            let signer = SigV4(
                credentials: SigV4.Credentials(keyID: "AKIA\(number)", secret: secret, sessionToken: token),
                region: region
            )
            let added = signer.headers(
                for: request,
                payloadHash: SigV4.hash(Array(body.utf8)),
                now: Instant(seconds: time)
            )
            var asked: [String: Any] = [
                "method": request.method, "scheme": request.scheme, "host": request.host, "path": request.path, "body": body,
                "query": request.query.map { [$0.name, $0.value] }, "headers": request.headers.map { [$0.name, $0.value] },
                "region": region, "key_id": "AKIA\(number)", "secret": secret, "time": time,
            ]
            if let token { asked["token"] = token }
            return Comparison(asked: asked, ours: added.last?.value ?? "")
        }
        for (theirs, comparison) in zip(try await botocore(comparisons), comparisons) {
            #expect(comparison.ours == theirs, "\(comparison.line)")
        }
    }
}

/// The same choices at every run.
private struct Dice {
    static let keyLetters = Array("abcXYZ019-._~/ +&=?%#@:;,!$'()*[]{}|\\^`\"<>äß漢🔥")
    static let headerLetters = Array("abcXYZ019 -._~/+&=?%;,\"")
    static let base64 = Array("ABCxyz0189+/")
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func below(_ limit: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(limit))
    }

    mutating func pick<Value>(_ values: [Value]) -> Value { values[below(values.count)] }

    mutating func text(upTo length: Int, of letters: [Character]) -> String {
        var text = ""
        for _ in 0..<below(length) {
            let letter = pick(letters)
            // Neither empty nor dotted segments: clients fold them.
            if (letter == "/" || letter == ".") && (text.isEmpty || text.last == "/") { continue }
            text.append(letter)
        }
        return text
    }
}
