import Kernel
import Testing

@testable import BlobStore

/// Replies and addresses of S3, taken apart.
@Suite struct S3ReplyTests {
    private func page(_ text: String) throws -> S3Page { try S3Page(Array(text.utf8)) }

    @Test func `a page of a listing`() throws {
        let page = try page(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <!-- a > comment --><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/" a='>'><Name>b</Name><Prefix/>
            <IsTruncated>true</IsTruncated><NextContinuationToken>1ue&#47;G&amp;&#x3d;=</NextContinuationToken>
            <Contents><Key>a%20b/%C3%A4+x</Key><LastModified>2026-01-02T03:04:05.678Z</LastModified><ETag>&quot;x&quot;</ETag>
            <Size>434234</Size><Owner><ID>8a</ID><Key>no</Key></Owner></Contents>
            <s3:Contents><s3:Key><![CDATA[c<d]]></s3:Key><s3:Size>0</s3:Size><s3:LastModified>2026-01-02T03:04:05Z</s3:LastModified></s3:Contents>
            </ListBucketResult>
            """
        )
        let time = try #require(Instant(rfc3339: "2026-01-02T03:04:05Z"))
        #expect(page.continuation == "1ue/G&==")
        #expect(
            page.entries == [
                .init(key: "a b/ä x", size: 434_234, modified: time + .milliseconds(678)),
                .init(key: "c<d", size: 0, modified: time),
            ]
        )
    }

    @Test func `the last page names no other`() throws {
        let text =
            "<ListBucketResult><IsTruncated>false</IsTruncated><NextContinuationToken>x</NextContinuationToken></ListBucketResult>"
        #expect(try page(text).continuation == nil)
        #expect(try page("<ListBucketResult/>").entries.isEmpty)
    }

    @Test(arguments: [
        "", "nothing", "<Error><Code>x</Code></Error>", "<ListBucketResult>", "<ListBucketResult></Other>",
        "<ListBucketResult><Contents></Contents></ListBucketResult>", "<ListBucketResult/>trailing",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        "<!DOCTYPE x [<!ENTITY a \"b\">]><ListBucketResult/>",
        "<ListBucketResult>&unknown;</ListBucketResult>", "<ListBucketResult>&#xD800;</ListBucketResult>",
        "<ListBucketResult>&amp",
        "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size><LastModified>2026-01-02T03:04:05Z</LastModified></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>%4</Key><Size>1</Size><LastModified>2026-01-02T03:04:05Z</LastModified></Contents></ListBucketResult>",
        "<ListBucketResult a=\"", "<ListBucketResult><!-- ", "<>", "<", "</x>", "<a:></a:>",
    ])
    func `anything else is no listing`(text: String) {
        #expect(throws: XMLReader.Malformed.self) { try page(text) }
        #expect(throws: XMLReader.Malformed.self) { try page(String(repeating: "<a>", count: 1_000) + text) }
    }

    /// Whatever is cut off or changed, the reader ends.
    @Test func `damaged listings are refused or read, never more`() throws {
        let whole = Array(
            "<?xml?><ListBucketResult><Contents><Key>a&lt;</Key><Size>1</Size><LastModified>2026-01-02T03:04:05Z</LastModified></Contents></ListBucketResult>"
                .utf8
        )
        #expect(try S3Page(whole).entries.count == 1)
        for length in 0..<whole.count { #expect(throws: XMLReader.Malformed.self) { try S3Page(Array(whole[..<length])) } }
        var survivors = 0
        for place in whole.indices {
            for byte in [0, UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "&"), UInt8(ascii: "/"), 0xFF] {
                var damaged = whole
                damaged[place] = byte
                if let page = try? S3Page(damaged), page.entries.count <= 1 { survivors += 1 }
            }
        }
        #expect(survivors > 0 && survivors < whole.count * 6)
    }

    @Test func `a complaint's code and words, and nothing else of it`() {
        let complaint = S3Complaint(
            Array(
                "<Error><Code>SignatureDoesNotMatch</Code><Message>No \(String(repeating: "x", count: 900))</Message><StringToSign>AWS4</StringToSign></Error>"
                    .utf8
            )
        )
        #expect(complaint.code == "SignatureDoesNotMatch" && complaint.message.count == 200)
        #expect(S3Complaint(Array("<html>".utf8)).code == "")
    }

    @Test func `dates and ranges of headers`() {
        #expect(HTTPDate.instant("Sun, 06 Nov 1994 08:49:37 GMT") == Instant(seconds: 784_111_777))
        for text in [nil, "", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET"] {
            #expect(HTTPDate.instant(text) == nil)
        }
        #expect(ContentRange("bytes 0-9/100")?.range == 0..<10)
        for text in [nil, "", "bytes */100", "bytes 9-0/100", "bytes 0-100/100", "bytes -1-2/100", "items 0-9/100", "bytes 0-9"] {
            #expect(ContentRange(text) == nil)
        }
    }

    @Test func `where a bucket is`() throws {
        let amazon = try S3Address(endpoint: "", region: "eu-central-1", bucket: "photos", pathStyle: false)
        #expect(amazon.scheme == "https" && amazon.host == "photos.s3.eu-central-1.amazonaws.com" && amazon.root == "/")
        let own = try S3Address(endpoint: "HTTP://Minio:9000/", region: "us-east-1", bucket: "photos", pathStyle: true)
        #expect(own.scheme == "http" && own.host == "minio:9000" && own.root == "/photos/")
        #expect(try S3Address(endpoint: "https://s3.x.com:443", region: "r", bucket: "abc", pathStyle: true).host == "s3.x.com")
        #expect(try S3Address(endpoint: "http://[::1]:80", region: "r", bucket: "abc", pathStyle: true).host == "[::1]")
        #expect(try S3Address(endpoint: "http://[::1]:81", region: "r", bucket: "a.b.c", pathStyle: true).root == "/a.b.c/")
    }

    @Test(arguments: [
        ("s3.example.com", "r", "abc", true, "endpoint"), ("ftp://s3.example.com", "r", "abc", true, "endpoint"),
        ("https://", "r", "abc", true, "endpoint"), ("https://x/y", "r", "abc", true, "endpoint"),
        ("https://u:p@x", "r", "abc", true, "endpoint"), ("https://x?y", "r", "abc", true, "endpoint"),
        ("https://x:0", "r", "abc", true, "endpoint"), ("https://x:65536", "r", "abc", true, "endpoint"),
        ("https://x:", "r", "abc", true, "endpoint"), ("https://[x]", "r", "abc", true, "endpoint"),
        ("https://[::1", "r", "abc", true, "endpoint"), ("http://127.0.0.1:9000", "r", "abc", false, "endpoint"),
        ("http://[::1]", "r", "abc", false, "endpoint"), ("https://a b", "r", "abc", true, "endpoint"),
        ("", "", "abc", false, "region"), ("", "EU", "abc", false, "region"), ("", "eu/1", "abc", false, "region"),
        ("", "r", "ab", false, "bucket"), ("", "r", "Photos", false, "bucket"), ("", "r", "a/b", false, "bucket"),
        ("", "r", "-abc", false, "bucket"), ("", "r", "abc-", false, "bucket"), ("", "r", "a..b", true, "bucket"),
        ("", "r", String(repeating: "a", count: 64), false, "bucket"), ("", "r", "a.b", false, "bucket"),
    ])
    func `what is no address is named`(endpoint: String, region: String, bucket: String, pathStyle: Bool, wrong: String) {
        do {
            _ = try S3Address(endpoint: endpoint, region: region, bucket: bucket, pathStyle: pathStyle)
            Issue.record("\(endpoint) \(region) \(bucket) was taken")
        } catch {
            switch error {
            case .endpoint: #expect(wrong == "endpoint")
            case .region: #expect(wrong == "region")
            case .bucket: #expect(wrong == "bucket")
            }
        }
    }

    @Test func `pauses double, are spread, and stay bounded`() {
        let retries = S3Retries()
        for attempt in 1...30 {
            let whole = retries.firstPause.microseconds << Int64(min(attempt - 1, 10))
            let pauses = (0..<50).map { retries.pause(after: attempt, seed: $0).microseconds }
            #expect(pauses.allSatisfy { (whole / 2...whole).contains($0) } && Set(pauses).count > 10)
        }
    }
}
