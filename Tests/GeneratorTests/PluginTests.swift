import Foundation
import Processes
import Testing

@Suite struct PluginTests {
    @Test func `the committed code is what the protos say`() async throws {
        let script = repository.appendingPathComponent("deploy/generate").path
        let result = try await run(script, ["--check"], environment: ["STREAKSNAP_PLUGIN": pluginPath()])
        #expect(result.status == 0, "\(result.transcript)")
    }

    /// Runs the plugin on one proto file and gives what protoc says.
    private func generate(_ body: String, package: String = "streaksnap.broken.v1") async throws -> (FinishedCommand, folder: URL)
    {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("streaksnap-\(UUID().uuidString)")
        let out = folder.appendingPathComponent("out")
        try FileManager.default.createDirectory(at: out, withIntermediateDirectories: true)
        let source = """
            syntax = "proto3";
            package \(package);
            import "google/protobuf/duration.proto";
            import "google/protobuf/timestamp.proto";
            import "streaksnap/options/v1/options.proto";
            \(body)
            """
        try Data(source.utf8).write(to: folder.appendingPathComponent("broken.proto"))
        let protos = repository.appendingPathComponent("Proto").path
        let result = try await run(
            "protoc",
            [
                "-I", folder.path, "-I", protos, "-I", "/usr/include", "--plugin=protoc-gen-streaksnap=\(try pluginPath())",
                "--streaksnap_out=\(out.path)", "broken.proto",
            ]
        )
        return (result, folder)
    }

    @Test(arguments: [
        ("message A { string self = 1; }", "A: a field cannot be called self in Swift"),
        ("message Type {}", "a message cannot be called Type in Swift"),
        ("message A { string a_b = 1; oneof aB { string c = 2; } }", "two fields"),
        ("message A { google.protobuf.Duration d = 1; }", "google.protobuf.Duration is not supported"),
        ("message A { int32 n = 1 [(streaksnap.options.v1.field) = {max_len: 3}]; }", "a rule that does not fit"),
        ("message A { string n = 1 [(streaksnap.options.v1.field) = {gte: 3}]; }", "a rule that does not fit"),
        ("message A { string n = 1 [(streaksnap.options.v1.field) = {max_items: 3}]; }", "a rule that does not fit"),
        ("message A { int32 n = 1 [(streaksnap.options.v1.field) = {format: FORMAT_VERSION}]; }", "a rule that does not fit"),
        (
            "message A { oneof o { string n = 1 [(streaksnap.options.v1.field) = {secret: true}]; } }",
            "a secret cannot be in a oneof"
        ),
        ("message A { oneof o { string n = 1 [(streaksnap.options.v1.field) = {required: true}]; } }", "cannot be required"),
        ("message A { option (streaksnap.options.v1.event) = {aggregate: \"b\"}; string a = 1; }", "the aggregate \"b\""),
        ("message A { int32 n = 1 [(streaksnap.options.v1.field) = {id: \"User\"}]; }", "a rule that does not fit"),
        ("message A { map<string, string> n = 1 [(streaksnap.options.v1.field) = {id: \"User\"}]; }", "a rule that does not fit"),
        ("message A { string n = 1 [(streaksnap.options.v1.field) = {id: \"User\" date: true}]; }", "a rule that does not fit"),
        ("message A { string n = 1 [(streaksnap.options.v1.field) = {date: true max_len: 3}]; }", "a rule that does not fit"),
        (
            "message A { optional string n = 1 [(streaksnap.options.v1.field) = {id: \"User\" required: true}]; }",
            "cannot be optional and required"
        ),
        (
            """
            message A {
              option (streaksnap.options.v1.event) = {aggregate: "a"};
              string a = 1 [(streaksnap.options.v1.field) = {id: "User"}];
            }
            """, "the aggregate \"a\""
        ),
        ("message A { option (streaksnap.options.v1.page) = {standard: 5 most: 4}; }", "standard must be from 1 to most"),
        (
            "message A { option (streaksnap.options.v1.page) = {standard: 5 most: 5}; int32 limit = 1; }",
            "pages need int32 limit and string cursor"
        ),
        ("message A {} service S { rpc R(stream A) returns (A); }", "streams are not supported"),
    ]) func `a mistake is named`(_ body: String, _ complaint: String) async throws {
        let (result, folder) = try await generate(body)
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(result.status != 0)
        #expect(result.transcript.contains("broken.proto") && result.transcript.contains(complaint), "\(result.transcript)")
    }

    /// Runs the plugin on a package of several files with their services.
    private func generate(services: [String: String]) async throws -> (FinishedCommand, folder: URL) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("streaksnap-\(UUID().uuidString)")
        let out = folder.appendingPathComponent("out")
        try FileManager.default.createDirectory(at: out, withIntermediateDirectories: true)
        let common = "syntax = \"proto3\"; package streaksnap.house.v1;"
        try Data("\(common) message A {}".utf8).write(to: folder.appendingPathComponent("a.proto"))
        for (name, body) in services {
            let imports = ["a.proto", "google/api/annotations.proto", "streaksnap/options/v1/options.proto"]
                .map { "import \"\($0)\";" }.joined(separator: " ")
            try Data("\(common) \(imports) \(body)".utf8).write(to: folder.appendingPathComponent("\(name).proto"))
        }
        let imports = try await run(repository.appendingPathComponent("deploy/generate").path, ["--imports"])
        try #require(imports.status == 0, "\(imports.transcript)")
        let googleAPIs = try #require(imports.text.split(separator: "\n").last)
        let protos = [repository.path + "/Proto", "\(repository.path)/\(googleAPIs)"]
        let result = try await run(
            "protoc",
            ["-I", folder.path] + protos.flatMap { ["-I", $0] } + [
                "-I", "/usr/include", "--plugin=protoc-gen-streaksnap=\(try pluginPath())",
                "--streaksnap_out=\(out.path)", "a.proto",
            ] + services.keys.sorted().map { "\($0).proto" }
        )
        return (result, folder)
    }

    @Test func `services of a package share its subjects and its descriptor`() async throws {
        let (result, folder) = try await generate(services: [
            "rooms": "service Rooms { rpc Enter(A) returns (A); }", "doors": "service Doors { rpc Open(A) returns (A); }",
        ])
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(result.status == 0, "\(result.transcript)")
        let module = folder.appendingPathComponent("out/HouseAPI")
        let files = try FileManager.default.contentsOfDirectory(atPath: module.path)
        #expect(files.filter { $0.hasSuffix("Descriptor.swift") } == ["HouseDescriptor.swift"])
        #expect(files.filter { $0.hasPrefix("Rooms") } == ["RoomsService.swift"], "a file without messages has no codec")
        for (file, method) in [("RoomsService", "Enter"), ("DoorsService", "Open")] {
            let text = try String(contentsOf: module.appendingPathComponent("\(file).swift"), encoding: .utf8)
            #expect(text.contains("public enum \(file) {"))
            #expect(text.contains("service: \"house\", version: \"v1\", name: \"\(method)\""))
        }
    }

    @Test func `a method of two services of a package is refused`() async throws {
        let (result, folder) = try await generate(services: [
            "rooms": "service Rooms { rpc Open(A) returns (A); }", "doors": "service Doors { rpc Open(A) returns (A); }",
        ])
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(result.status != 0)
        let complaint = "streaksnap.house.v1: Open is a method of both Doors and Rooms"
        #expect(result.transcript.contains(complaint), "\(result.transcript)")
    }

    /// What a method declares, and which handler it takes.
    @Test(arguments: [
        ("option (google.api.http) = {get: \"/a\"};", "QueryHandler"),
        ("option (google.api.http) = {post: \"/a\"};", "MutationHandler"),
        ("option (google.api.http) = {put: \"/a\"};", "MutationHandler"),
        ("option (google.api.http) = {patch: \"/a\"};", "MutationHandler"),
        ("option (google.api.http) = {delete: \"/a\"};", "MutationHandler"),
        ("option (google.api.http) = {get: \"/a\" additional_bindings {post: \"/b\"}};", "MutationHandler"),
        (
            "option (google.api.http) = {delete: \"/a\"}; option (streaksnap.options.v1.method) = {idempotent: true};",
            "MutationHandler"
        ),
        (
            "option (google.api.http) = {post: \"/a\"}; option (streaksnap.options.v1.method) = {effect: EFFECT_READS};",
            "QueryHandler"
        ),
        ("option (streaksnap.options.v1.method) = {auth: AUTH_INTERNAL};", "MutationHandler"),
        ("option (streaksnap.options.v1.method) = {auth: AUTH_INTERNAL idempotent: true};", "QueryHandler"),
        (
            "option (streaksnap.options.v1.method) = {auth: AUTH_INTERNAL idempotent: true effect: EFFECT_CHANGES};",
            "MutationHandler"
        ),
    ]) func `what changes something takes a handler that makes it once`(_ options: String, _ handler: String) async throws {
        let service = "service Rooms { rpc Enter(A) returns (A) { \(options) } }"
        let (result, folder) = try await generate(services: ["rooms": service])
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(result.status == 0, "\(result.transcript)")
        let file = folder.appendingPathComponent("out/HouseAPI/RoomsService.swift")
        #expect(try String(contentsOf: file, encoding: .utf8).contains("enter: some Bus.\(handler)<A, A>"))
    }

    @Test func `a package without version is refused`() async throws {
        let (result, folder) = try await generate("message A {}", package: "broken")
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(result.status != 0 && result.transcript.contains("must end in a service and a version"))
    }

    @Test func `a second version is a module of its own`() async throws {
        let (result, folder) = try await generate("// Of note.\nmessage A { string b = 1; }", package: "streaksnap.auth.v2")
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(result.status == 0, "\(result.transcript)")
        let file = folder.appendingPathComponent("out/AuthV2API/BrokenMessages.swift")
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(text.hasPrefix("// Generated by protoc-gen-streaksnap from broken.proto. Do not edit"))
        #expect(text.contains("/// Of note.\npublic struct A: Sendable {"))
    }

    @Test func `garbage instead of a request is refused`() async throws {
        let result = try await run("sh", ["-c", "printf 'garbage' | '\(try pluginPath())'"])
        #expect(result.status == 1 && result.transcript.contains("the input is not what protoc sends"))
    }
}
