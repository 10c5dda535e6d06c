import Foundation
import Processes
import TestSupport
import Testing

/// The description of the API, read by tools that others made, against what runs.
struct OpenAPITests {
    /// A folder that is gone afterwards.
    private func inFolder<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appending(path: "openapi-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await body(folder)
    }

    /// A program beside the Python interpreter.
    private func tool(_ name: String) async throws -> String {
        URL(filePath: try await PythonPackages.openAPI.value).deletingLastPathComponent().appending(path: name).path
    }

    private func address(_ home: Installation) -> String { "http://127.0.0.1:\(home.http.port)" }

    @Test func `the description is valid, and so is every example in it`() async throws {
        for home in [try await Installation.shared.value, try await Installation.timeTravelling.value] {
            let page = try await home.call("GET", "/openapi.json")
            let python = try await PythonPackages.openAPI.value
            let result = try await run(python, [PythonPackages.file("OpenAPI/check.py")], input: page.body)
            #expect(result.status == 0, "\(result.transcript.suffix(5_000))")
            let counts = result.text.split(separator: "\n").compactMap { Int($0.prefix { $0 != " " }) }
            #expect(counts.count == 2 && counts.allSatisfy { $0 > 60 }, "\(result.text)")
        }
    }

    @Test func `every property and every parameter says what it is`() async throws {
        for home in [try await Installation.shared.value, try await Installation.timeTravelling.value] {
            let page = try await home.call("GET", "/openapi.json")
            let result = try await run("python3", [PythonPackages.file("OpenAPI/described.py")], input: page.body)
            #expect(result.status == 0, "without a description: \(result.transcript.suffix(5_000))")
            let counts = result.text.split(separator: "\n").compactMap { Int($0.prefix { $0 != " " }) }
            #expect(counts.count == 2 && counts[0] > 2_000 && counts[1] > 300, "\(result.text)")
        }
    }

    @Test func `every example of a request is taken when it is sent, or refused for what is there, not for its form`()
        async throws
    {
        let home = try await Installation.shared.value
        let admin = try await Person.administrator(at: home)
        let result = try await inFolder { folder in
            let photo = folder.appending(path: "photo.jpg")
            try Data(try Photos.jpeg(203)).write(to: photo)
            let script = PythonPackages.file("OpenAPI/examples.py")
            return try await run("python3", [script, address(home), photo.path, admin.token], within: .seconds(600))
        }
        #expect(result.status == 0, "\(result.transcript.suffix(10_000))")
        let counts = result.text.split(separator: "\n").compactMap { Int($0.prefix { $0 != " " }) }
        try #require(counts.count == 2, "\(result.transcript.suffix(5_000))")
        #expect(counts[0] > 230 && counts[1] > 90, "\(counts)")
    }

    @Test func `dates in examples lie around today, so that an example does not age`() async throws {
        let page = try await Installation.shared.value.call("GET", "/openapi.json").json
        let pause = page["paths"]["/api/mobile/streaks/pause"]["post"]["requestBody"]["content"]["application/json"]["example"]
        let resumed = try Date(try #require(pause["resume_date"].string) + "T00:00:00Z", strategy: .iso8601)
        let days = resumed.timeIntervalSinceNow / 86_400
        // Seven days after today, which began up to a day ago; midnight may be between the two.
        #expect(days > 5.9 && days <= 7, "\(days)")
    }

    @Test func `no id of a rule, which no reader has a list of, is in the description`() async throws {
        let home = try await Installation.timeTravelling.value
        let text = try await home.call("GET", "/openapi.json").text
        #expect(text.matches(of: /\b[A-Z]{2}-\d+/).map { String($0.0) } == [])
    }

    /// JSON Schema counts code points, the rule what a person sees as characters: a schema with the rule's number would refuse what is taken.
    @Test func `a length says what is counted, and no text that is taken breaks the schema`() async throws {
        let home = try await Installation.shared.value
        let page = try await home.call("GET", "/openapi.json").json
        let body = page["paths"]["/api/users/me"]["put"]["requestBody"]["content"]["application/json"]["schema"]
        let component = try #require(body["$ref"].string?.split(separator: "/").last.map(String.init))
        let name = page["components"]["schemas"][component]["properties"]["display_name"]
        #expect(name["x-max-characters"].int == 50 && name["maxLength"].int == 1_600, "\(name)")
        #expect(name["description"].string?.contains("At most 50 characters as a person counts them") == true, "\(name)")
        // ASCII by its form: both count the same.
        let username = page["components"]["schemas"][component]["properties"]["username"]
        #expect(username["maxLength"].int == 30 && username["x-max-characters"].isNull, "\(username)")
        let person = try await Person.register("emoji", at: home)
        let family = "👨‍👩‍👧‍👦"
        for (count, status) in [(50, 200), (51, 400)] {
            let text = String(repeating: family, count: count)
            let reply = try await home.call(
                "PUT",
                "/api/users/me",
                token: person.token,
                json: "{\"display_name\":\(quoted(text))}"
            )
            #expect(reply.status == status, "\(count): \(reply.text)")
            guard status == 200 else { continue }
            #expect(try await person.get("/api/users/me").data["display_name"].string == text)
        }
    }

    @Test func `every path takes exactly the methods it is described with, and says which`() async throws {
        for home in [try await Installation.shared.value, try await Installation.timeTravelling.value] {
            let paths = try await home.call("GET", "/openapi.json").json["paths"]
            // The routes of a service that another test brings along come and go.
            for path in paths.names.sorted() where !path.hasPrefix("/api/testing/") {
                var allowed = Set(paths[path].names.map { $0.uppercased() })
                if allowed.contains("GET") { allowed.insert("HEAD") }
                let filled = path.replacing(/\{\w+\}/, with: "01900000-0000-7000-8000-000000000000")
                for method in ["GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
                    // The caller is not signed in, so nothing comes of it.
                    let reply = try await home.http.send(method, filled)
                    #expect((reply.status == 405) != allowed.contains(method), "\(method) \(path): \(reply.status)")
                    guard reply.status == 405 else { continue }
                    #expect(reply.header("Allow") == allowed.sorted().joined(separator: ", "), "\(method) \(path)")
                }
            }
        }
    }

    /// Examples and, in full, the edges of every rule, and then requests made by chance: single ones, and sequences that use what replies held.
    /// Methods that a path does not have are another test's.
    @Test func `schemathesis finds nothing in any phase`() async throws {
        let home = try await Installation.shared.value
        let person = try await Person.register("fuzz", at: home)
        // Its own, and 431: a text may be longer than a request line may be.
        let refusals = [400, 401, 403, 404, 405, 406, 409, 415, 422, 428, 429, 431].map(String.init) + ["5xx"]
        // The page has no links between operations: what leads to what, schemathesis works out from names and types.
        let amounts = """
            generation.max-examples = \(TestDepth.pick(quick: 3, full: 50))
            phases.coverage.unexpected-methods = []
            phases.stateful.generation.max-examples = \(TestDepth.pick(quick: 20, full: 500))
            checks.negative_data_rejection.expected-statuses = \(refusals)
            [[operations]]
            include-path = "/api/sync"
            checks.negative_data_rejection.enabled = false
            """
        // The edges are 9,000 requests; MistakeWalkTests has one mistake of each kind for every operation.
        let phases = ["Examples", "Fuzzing", "Stateful"] + TestDepth.pick(quick: [], full: ["Coverage"])
        let result = try await inFolder { folder in
            try Data(amounts.utf8).write(to: folder.appending(path: "schemathesis.toml"))
            return try await run(
                "/usr/bin/env",
                [
                    // It keeps what it found where it runs, and begins with that the next time.
                    "-C", folder.path, try await tool("schemathesis"), "run", "\(address(home))/openapi.json", "--header",
                    "Authorization: Bearer \(person.token)",
                    "--phases", phases.joined(separator: ",").lowercased(), "--seed", "1", "--continue-on-failure", "--no-color",
                    // The health check says how busy the machine is.
                    "--no-shrink", "--suppress-health-check", "too_slow",
                    // hooks.py has the one that fits PF-2's statuses.
                    "--exclude-checks", "positive_data_acceptance",
                    // They end the session that it walks with, do not end, or come and go with another test.
                    "--exclude-path-regex", "logout|/api/auth/account|/api/events|^/api/testing/", "--request-timeout", "30",
                ],
                environment: ["SCHEMATHESIS_HOOKS": PythonPackages.file("OpenAPI/hooks.py")],
                within: TestDepth.pick(quick: .seconds(600), full: .seconds(3_000))
            )
        }
        #expect(result.status == 0, "\(result.transcript.suffix(20_000))")
        for phase in phases {
            #expect(result.transcript.contains("✅ \(phase)"), "\(phase): \(result.transcript.suffix(5_000))")
        }
        let cases = result.transcript.firstMatch(of: /(\d+) generated/).flatMap { Int($0.1) } ?? 0
        #expect(cases > TestDepth.pick(quick: 700, full: 5_000), "\(result.transcript.suffix(5_000))")
    }

    /// A rule that no refusal uses any more would hide what it was not made for. How few requests of a short run use is left to chance, so the
    /// sources are asked.
    @Test func `each refusal of what the description allows that schemathesis may see is one that there is`() async throws {
        let root = URL(filePath: PythonPackages.file("OpenAPI/rules.py")).deletingLastPathComponent().appending(path: "../../..")
        let result = try await run("python3", [PythonPackages.file("OpenAPI/rules.py"), root.standardizedFileURL.path])
        #expect(result.status == 0 && result.text.isEmpty, "\(result.transcript)")
    }

    @Test func `the demo plays through the client that openapi-python-client makes of the description`() async throws {
        let python = try await PythonPackages.openAPI.value
        let generator = try await tool("openapi-python-client")
        try await play("demo.py", with: python) { folder, address in
            try await run(
                generator,
                [
                    "generate", "--url", address + "/openapi.json", "--meta", "none", "--fail-on-warning",
                    "--config", PythonPackages.file("OpenAPI/client.yml"),
                    "--output-path", folder.appending(path: "streaksnap_client").path,
                ]
            )
        }
    }

    @Test func `the demo plays through the client that OpenAPI Generator makes of the description`() async throws {
        let python = try await PythonPackages.openAPIGenerator.value
        let generator = URL(filePath: python).deletingLastPathComponent().appending(path: "openapi-generator-cli").path
        try await play("generator.py", with: python) { folder, address in
            try await run(
                generator,
                [
                    "generate", "-g", "python", "-i", address + "/openapi.json", "-o", folder.path,
                    "--package-name", "streaksnap",
                    "--global-property", "apiTests=false,modelTests=false,apiDocs=false,modelDocs=false",
                ],
                // It ends before the second compiler would pay.
                environment: ["JAVA_OPTS": "-XX:TieredStopAtLevel=1"],
                within: .seconds(300)
            )
        }
    }

    /// The models of a generated package whose names end with a number, or hold one of a generator's own.
    private func numbered(in folder: URL) throws -> [String] {
        let packages = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let models = packages.map { folder.appending(path: "\($0)/models").path }.filter {
            FileManager.default.fileExists(atPath: $0)
        }
        let names = try models.flatMap { try FileManager.default.contentsOfDirectory(atPath: $0) }
        try #require(names.count > 400, "\(models)")
        return names.filter { $0.contains(/(\d|_type_\d\w*)\.py$/) }.sorted()
    }

    /// Plays a script of `Tests/Support/OpenAPI` through the client that a generator makes.
    ///
    /// - Parameters:
    ///   - python: the interpreter that has what the client needs.
    ///   - generate: makes the client's package in a folder, of the description below an address.
    private func play(
        _ script: String,
        with python: String,
        generate: (_ folder: URL, _ address: String) async throws -> FinishedCommand
    ) async throws {
        let home = try await Installation.shared.value
        let output = try await inFolder { folder in
            let generated = try await generate(folder, address(home))
            #expect(generated.status == 0, "\(generated.transcript.suffix(5_000))")
            #expect(try numbered(in: folder) == [], "a class that has a number because another has its name")
            var photos: [String] = []
            for seed in [201, 202] {
                let file = folder.appending(path: "\(seed).jpg")
                try Data(try Photos.jpeg(UInt64(seed))).write(to: file)
                photos.append(file.path)
            }
            let script = PythonPackages.file("OpenAPI/\(script)")
            return try await run(python, [script, folder.path, address(home), home.zone] + photos)
        }
        #expect(output.status == 0, "\(output.transcript.suffix(5_000))")
        #expect(output.text == "streak of 1\n")
    }
}
