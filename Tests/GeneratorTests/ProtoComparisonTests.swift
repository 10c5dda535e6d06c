import Foundation
import Processes
import Testing

/// `deploy/compare_protos.py`: what would break a running peer or a released client.
struct ProtoComparisonTests {
    /// What every case changes. `NAME` is the case's package, so that all are compared in one run.
    private static let base = """
        syntax = "proto3";
        package streaksnap.NAME.v1;
        import "google/api/annotations.proto";
        import "streaksnap/options/v1/options.proto";
        service Notes {
          rpc GetNote(GetNoteRequest) returns (Note) {
            option (google.api.http) = {get: "/NAME/{id}" additional_bindings {post: "/NAME" body: "*"}};
            option (streaksnap.options.v1.method) = {auth: AUTH_GUEST idempotent: true};
          }
          rpc Attach(AttachRequest) returns (Page) {
            option (google.api.http) = {post: "/NAME/files" body: "*"};
            option (streaksnap.options.v1.method) = {upload {part: "file" field: "key" max_bytes: 1000}
              body {field: "html" content_type: "text/html"} unlimited: true};
          }
          rpc Copy(CopyRequest) returns (Inner) {
            option (streaksnap.options.v1.method) = {auth: AUTH_INTERNAL};
          }
          rpc Watch(CopyRequest) returns (Page) {
            option (streaksnap.options.v1.method) = {stream {subject: "live" kinds {name: "a" data: "x.A"} kinds {name: "b" data: "x.B"}}};
          }
          rpc Aged(CopyRequest) returns (Page) {
            option deprecated = true;
            option (google.api.http) = {get: "/NAME/aged"};
          }
        }
        message GetNoteRequest {
          string id = 1 [(streaksnap.options.v1.field) = {min_len: 1 max_len: 40}];
          optional int32 limit = 2 [(streaksnap.options.v1.field) = {gte: 1 lte: 50}];
          repeated string tags = 3 [(streaksnap.options.v1.field) = {max_items: 5}];
          string order = 4 [(streaksnap.options.v1.field) = {in: "new" in: "old"}];
        }
        message Note {
          string text = 1;
          int32 stars = 2;
          Mood mood = 3;
          string aged = 4 [deprecated = true];
          oneof place { string town = 5; string sea = 6; }
          map<string, int32> votes = 7;
          reserved 9;
        }
        message AttachRequest { string key = 1; }
        message Page { string html = 1; string other = 2; }
        message CopyRequest { string id = 1; }
        message Inner { string id = 1; string mark = 2; }
        enum Mood { MOOD_UNSPECIFIED = 0; MOOD_GOOD = 1; MOOD_BAD = 2; }
        message NoteWritten {
          option (streaksnap.options.v1.event) = {aggregate: "id"};
          string id = 1;
          string by = 2;
        }

        """

    /// A change of the base, and what is said of it: element and a part of the reason. Without a reason it is compatible.
    private struct Case {
        let from: String
        let to: String
        let found: [(element: String, why: String)]

        init(_ from: String, _ to: String, _ found: (String, String)...) {
            (self.from, self.to) = (from, to)
            self.found = found.map { (element: $0.0, why: $0.1) }
        }
    }

    private static let fields = [
        Case("stars = 2", "stars = 8", ("Note.stars", "the number was 2, is 8")),
        Case("int32 stars", "int64 stars", ("Note.stars", "the type was int32, is int64")),
        Case("Mood mood", "Inner mood", ("Note.mood", "the type was streaksnap.NAME.v1.Mood, is streaksnap.NAME.v1.Inner")),
        Case("map<string, int32>", "map<string, string>", ("Note.VotesEntry.value", "the type was int32, is string")),
        Case("string text = 1", "repeated string text = 1", ("Note.text", "was singular, is repeated")),
        Case("optional int32 limit", "int32 limit", ("GetNoteRequest.limit", "was optional, is singular")),
        Case("string sea = 6; }", "} string sea = 6;", ("Note.sea", "was of the oneof place, is singular")),
        Case("string text = 1", "string words = 1", ("Note.text", "the name in JSON was text (text), is words (words)")),
        Case("text = 1;", "text = 1 [json_name = \"t\"];", ("Note.text", "the name in JSON was text (text), is text (t)")),
        Case(
            "  int32 stars = 2;\n",
            "",
            ("Note.stars", "is gone, and not reserved: add `reserved 2;` and `reserved \"stars\";`")
        ),
        Case("  int32 stars = 2;", "  reserved 2; reserved \"stars\";", ("Note.stars", "clients read it; mark it deprecated")),
        Case(
            "string order = 4 [(streaksnap.options.v1.field) = {in: \"new\" in: \"old\"}];",
            "reserved 4; reserved \"order\";",
            ("GetNoteRequest.order", "clients that send it are refused")
        ),
        Case("  string by = 2;\n", "", ("NoteWritten.by", "is gone, and not reserved")),
        Case("reserved 9;", "string again = 9;", ("Note.again", "the number 9 is reserved")),
        Case(
            "MOOD_GOOD = 1; MOOD_BAD = 2;",
            "MOOD_GOOD = 2; MOOD_BAD = 3;",
            ("Mood.MOOD_GOOD", "the number was 1, is 2"),
            ("Mood.MOOD_BAD", "the number was 2, is 3")
        ),
        Case("MOOD_BAD = 2", "MOOD_SAD = 2", ("Mood.MOOD_BAD", "the name in JSON was MOOD_BAD, is MOOD_SAD")),
        Case(" MOOD_BAD = 2;", "", ("Mood.MOOD_BAD", "is gone, and not reserved: add `reserved 2;`")),
        Case("{aggregate: \"id\"}", "{aggregate: \"by\"}", ("NoteWritten", "the aggregate was id, is by")),
        Case("  option (streaksnap.options.v1.event) = {aggregate: \"id\"};\n", "", ("NoteWritten", "is an event no more")),
        Case("message NoteWritten", "message NoteMade", ("NoteWritten", "the event is gone")),
    ]

    private static let rules = [
        Case("max_len: 40", "max_len: 39", ("GetNoteRequest.id", "the rule max_len was 40, is 39")),
        Case("min_len: 1 ", "min_len: 2 ", ("GetNoteRequest.id", "the rule min_len was 1, is 2")),
        Case("gte: 1", "gte: 2", ("GetNoteRequest.limit", "the rule gte was 1, is 2")),
        Case("lte: 50", "lte: 49", ("GetNoteRequest.limit", "the rule lte was 50, is 49")),
        Case("max_items: 5", "max_items: 5 min_items: 1", ("GetNoteRequest.tags", "the rule min_items was not there, is 1")),
        Case("in: \"new\" in: \"old\"", "in: \"new\"", ("GetNoteRequest.order", "refuses what was taken: old")),
        Case("{min_len: 1 max_len: 40}", "{required: true min_len: 1 max_len: 40}", ("GetNoteRequest.id", "is required now")),
        Case("max_len: 40", "max_len: 40 format: FORMAT_UUID", ("GetNoteRequest.id", "the rule format was not there")),
        Case(
            "message CopyRequest {",
            "message CopyRequest { string why = 2 [(streaksnap.options.v1.field).required = true];",
            ("CopyRequest.why", "is new and required")
        ),
    ]

    private static let calls = [
        Case(
            "  rpc Copy(CopyRequest) returns (Inner) {\n    option (streaksnap.options.v1.method) = {auth: AUTH_INTERNAL};\n  }\n",
            "",
            ("Copy", "the RPC is gone")
        ),
        Case("Copy(CopyRequest)", "Copy(GetNoteRequest)", ("Copy", "the request was streaksnap.NAME.v1.CopyRequest, is")),
        Case("kinds {name: \"b\"", "kinds {name: \"c\" data: \"x.C\"} kinds {name: \"b\""),
        Case(" kinds {name: \"b\" data: \"x.B\"}", "", ("Watch", "the event b of the stream is gone")),
        Case("data: \"x.B\"", "data: \"x.A\"", ("Watch", "the event b of the stream is gone, or has other data")),
        Case("(AttachRequest) returns (Page)", "(AttachRequest) returns (stream Page)", ("Attach", "a stream of replies")),
        Case(
            "GetNoteRequest) returns (Note)",
            "GetNoteRequest) returns (Inner)",
            ("GetNote", "the reply was streaksnap.NAME.v1.Note")
        ),
        Case("get: \"/NAME/{id}\"", "get: \"/NAME/notes/{id}\"", ("GetNote", "the route GET /NAME/{id} is gone")),
        Case(" additional_bindings {post: \"/NAME\" body: \"*\"}", "", ("GetNote", "the route POST /NAME is gone")),
        Case("post: \"/NAME\" body: \"*\"", "post: \"/NAME\"", ("GetNote", "the body of POST /NAME was “*”, is “”")),
        Case("AUTH_GUEST", "AUTH_USER", ("GetNote", "auth was AUTH_GUEST, is AUTH_USER")),
        Case("AUTH_GUEST", "AUTH_INTERNAL", ("GetNote", "is internal now")),
        Case(" idempotent: true", "", ("GetNote", "is not idempotent any more")),
        Case("max_bytes: 1000", "max_bytes: 999", ("Attach", "the upload file took 1000 bytes, takes 999")),
        Case("part: \"file\"", "part: \"picture\"", ("Attach", "the upload file is gone")),
        Case("field: \"html\"", "field: \"other\"", ("Attach", "body has changed")),
        Case(" unlimited: true", "", ("Attach", "counts against the rate limits now")),
        Case(" unlimited: true", " unlimited: true success_status: 201", ("Attach", "success_status was not there, is 201")),
    ]

    private static let compatible = [
        Case("string text = 1;", "string text = 1; // said otherwise"),
        Case("int32 stars = 2;", "int32 stars = 2; repeated Inner inner = 10;"),
        Case("optional int32 limit", "optional string word = 5; optional int32 limit"),
        Case("MOOD_BAD = 2;", "MOOD_BAD = 2; MOOD_SAD = 3;"),
        Case(
            "service Notes {",
            "service Others { rpc New(Note) returns (Page) {option (google.api.http) = {get: \"/NAME/new\"};} }\nservice Notes {"
        ),
        Case("service Notes {", "service Renamed {"),
        Case("string mark = 2", "string label = 2 [(streaksnap.options.v1.field).max_len = 5]"),
        Case("string aged = 4 [deprecated = true];", "reserved 4; reserved \"aged\";"),
        Case("get: \"/NAME/aged\"", "get: \"/NAME/older\""),
        Case("max_len: 40", "max_len: 41"),
        Case("in: \"new\" in: \"old\"", "in: \"new\" in: \"old\" in: \"best\""),
        Case("AUTH_GUEST idempotent: true", "AUTH_NONE idempotent: true timeout_ms: 20000 cost: 2"),
        Case("max_bytes: 1000", "max_bytes: 2000"),
    ]

    /// The lines about each case, in the order of the cases.
    private func compare(_ cases: [Case]) async throws -> [[String]] {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("streaksnap-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        for (index, item) in cases.enumerated() {
            try #require(Self.base.ranges(of: item.from).count == 1, "\(item.from)")
            for (side, text) in [("old", Self.base), ("new", Self.base.replacing(item.from, with: item.to))] {
                let file = folder.appendingPathComponent("\(side)/streaksnap/case\(index)/v1/notes.proto")
                try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try text.replacing("NAME", with: "case\(index)").write(to: file, atomically: true, encoding: .utf8)
            }
        }
        let imports = try await run(repository.appendingPathComponent("deploy/generate").path, ["--imports"])
        let google = String(decoding: imports.output, as: UTF8.self).split(separator: "\n").last ?? ""
        let result = try await run(
            "python3",
            [
                repository.appendingPathComponent("deploy/compare_protos.py").path, folder.appendingPathComponent("old").path,
                folder.appendingPathComponent("new").path, "--imports", repository.appendingPathComponent(String(google)).path,
                "--imports", repository.appendingPathComponent("Proto").path,
            ]
        )
        let isBroken = cases.contains { !$0.found.isEmpty }
        #expect(result.status == (isBroken ? 1 : 0), "\(result.transcript)")
        let lines = String(decoding: result.output, as: UTF8.self).split(separator: "\n").map(String.init)
        return cases.indices.map { index in
            lines.filter { $0.hasPrefix("Proto/streaksnap/case\(index)/v1/notes.proto: streaksnap.case\(index).v1.") }
                .map { $0.replacing("case\(index)", with: "NAME") }
        }
    }

    @Test func `each kind of break is found, and named by file, element and reason`() async throws {
        let cases = Self.fields + Self.rules + Self.calls
        for (item, lines) in zip(cases, try await compare(cases)) {
            let heads = item.found.map { "Proto/streaksnap/NAME/v1/notes.proto: streaksnap.NAME.v1.\($0.element): " }
            // Changes of requests and replies may have more to be said of than one thing.
            for (head, found) in zip(heads, item.found) {
                #expect(lines.contains { $0.hasPrefix(head) && $0.contains(found.why) }, "\(item.from) → \(item.to): \(lines)")
            }
            let strange = lines.filter { line in !heads.contains { line.hasPrefix($0) } }
            #expect(strange.isEmpty, "\(item.from) → \(item.to)")
        }
    }

    @Test func `what is added or widened, and what was deprecated before, is no break`() async throws {
        for (item, lines) in zip(Self.compatible, try await compare(Self.compatible)) {
            #expect(lines.isEmpty, "\(item.from) → \(item.to)")
        }
    }

    @Test func `the command compares with a revision, and says when there is none`() async throws {
        let generate = repository.appendingPathComponent("deploy/generate").path
        let missing = try await run(generate, ["--against", "no-such-revision"])
        #expect(missing.status == 2)
        #expect(missing.errors.contains("there is no revision “no-such-revision”"))
    }
}
