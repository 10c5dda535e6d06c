import Bus
import Foundation
import Kernel
import Processes
import Synchronization
import TestSupport
import Testing

/// A service in a repository of its own, made by `deploy/dev new-service`, beside an unchanged gateway (`deploy/docs/service-kit.md`).
struct OwnServiceTests {
    private static let repository = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL
    private static let name = "meal-plans"
    private static let route = "/api/meal-plans/greetings"

    /// Makes the package in a folder.
    private func make(in folder: URL, plugin: String) async throws -> FinishedCommand {
        try await run(
            Self.repository.appending(path: "deploy/new_service.py").path,
            [Self.name, "--into", folder.path, "--plugin", plugin]
        )
    }

    private func swift(_ arguments: [String], _ package: URL, within limit: Duration = .seconds(120)) async throws
        -> FinishedCommand
    {
        let scratch = package.appending(path: ".build").path
        return try await run(
            "swift",
            [arguments[0], "--package-path", package.path, "--scratch-path", scratch] + arguments.dropFirst(),
            within: limit
        )
    }

    @Test func `a package is made whole or not at all, its code is what its protos say, and SwiftPM can read it`() async throws {
        let folder = try Installation.makeFolder()
        let failed = try await make(in: folder, plugin: "/bin/false")
        #expect(failed.status == 1 && failed.errors.contains("the code of its protos could not be made"), "\(failed.transcript)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])

        let plugin = try builtProgram("protoc-gen-streaksnap").path
        let made = try await make(in: folder, plugin: plugin)
        try #require(made.status == 0, "\(made.transcript)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [Self.name])
        let again = try await make(in: folder, plugin: plugin)
        #expect(again.status == 2 && again.errors.contains("is there already"), "\(again.transcript)")

        let package = folder.appending(path: Self.name)
        for file in Files.all(below: package) {
            let text = Files.text(file) ?? ""
            #expect(!file.path.contains("ample") && !text.contains("ampleName") && !text.contains("ample-name"), "\(file.path)")
            #expect(!text.contains("ample_name") && !text.contains("KIT_DEPENDENCY"), "\(file.path)")
        }
        let generate = package.appending(path: "deploy/generate").path
        let current = try await run(generate, ["--check"], environment: ["STREAKSNAP_PLUGIN": plugin])
        #expect(current.status == 0, "\(current.transcript)")
        let proto = package.appending(path: "Proto/streaksnap/meal_plans/v1/meal_plans.proto")
        try Self.replace("string word = 1", by: "string first_word = 1", in: proto)
        let stale = try await run(generate, ["--check"], environment: ["STREAKSNAP_PLUGIN": plugin])
        #expect(stale.status == 1 && stale.transcript.contains("run deploy/generate"), "\(stale.transcript)")
        let written = try await run(generate, [], environment: ["STREAKSNAP_PLUGIN": plugin])
        #expect(written.status == 0, "\(written.transcript)")
        let messages = Files.text(package.appending(path: "Generated/MealPlansAPI/MealPlansMessages.swift")) ?? ""
        #expect(messages.contains("public var firstWord: String"))

        struct Description: Decodable {
            struct Target: Decodable { let name: String }
            let targets: [Target]
        }
        let described = try await swift(["package", "describe", "--type", "json"], package)
        try #require(described.status == 0, "\(described.transcript)")
        let targets = try JSONDecoder().decode(Description.self, from: Data(described.output)).targets.map(\.name)
        let expected = ["MealPlansAPI", "MealPlansMain", "MealPlansService", "MealPlansServiceTests"]
        #expect(targets.sorted() == expected)
        try FileManager.default.removeItem(at: folder)
    }

    @Test func `its tests pass, it serves and is rolled under load, and its routes go with it`() async throws {
        // Its build takes many minutes.
        guard TestDepth.current == .full else { return }
        let folder = try Installation.makeFolder()
        try #require(try await make(in: folder, plugin: try builtProgram("protoc-gen-streaksnap").path).status == 0)
        let package = folder.appending(path: Self.name)
        let old = try await build(package, as: "old", testing: true)
        let home = try await Installation(["--services", package.appending(path: "deploy/services.json").path])
        let first = try await start(old, beside: home)
        let ann = try await Person.register("ann", at: home)
        try await eventually("the gateway has its route, and it knows the name") {
            try await greet(ann, at: home).data["text"].string?.hasPrefix("Hello, ") ?? false
        }
        let bus = try await home.bus()
        let greetings = try await greet(ann, at: home).data["greetings"].int ?? 0
        try await eventually("each greeting is an event") {
            try await JetStream(connection: bus).streamInfo("EVT_MEAL_PLANS").lastSequence == greetings
        }
        let document = try await ann.export().json
        #expect(document["meal_plans"]["greetings"][0]["greetings"].int == greetings)

        try Self.replace("\"0.1.0\"", by: "\"0.2.0\"", in: package.appending(path: "Sources/Service/MealPlansModule.swift"))
        let handler = package.appending(path: "Sources/Service/Greetings/Handlers/Greet.swift")
        try Self.replace("\"Hello\"", by: "\"Hi\"", in: handler)
        let new = try await build(package, as: "new", testing: false)
        let second = try await roll(first, to: new, for: ann, at: home)

        second.signal(SIGTERM)
        #expect(await second.waitForExit() == 0)
        let away = try await greet(ann, at: home)
        #expect(away.status == 503 && away.code == "UNAVAILABLE")
        try await eventually("its route is gone") { try await greet(ann, at: home).code == "NOT_FOUND" }
        await bus.close()
        await home.guardian.end()
        try FileManager.default.removeItem(at: folder)
    }

    /// Starts the new version and ends the old one while four clients never stop asking: not one request may fail.
    private func roll(_ first: ChildProcess, to new: URL, for person: Person, at home: Installation) async throws -> ChildProcess
    {
        let load = Load()
        return try await withThrowingTaskGroup(of: Void.self, returning: ChildProcess.self) { clients in
            for _ in 0..<4 {
                clients.addTask {
                    while !load.isOver { load.note(try await greet(person, at: home)) }
                }
            }
            let second = try await start(new, beside: home)
            try await eventually("the new version answers") {
                try await greet(person, at: home).data["text"].string?.hasPrefix("Hi, ") ?? false
            }
            first.signal(SIGTERM)
            #expect(await first.waitForExit() == 0)
            let before = load.answered
            try await eventually("clients go on with the new one alone") { load.answered > before + 50 }
            load.end()
            try await clients.waitForAll()
            #expect(load.failures == [], "of \(load.answered)")
            return second
        }
    }

    /// What clients that never stop asking are answered.
    private final class Load: Sendable {
        private struct State {
            var isOver = false
            var answered = 0
            var failures: [String] = []
        }
        private let state = Mutex(State())

        var isOver: Bool { state.withLock { $0.isOver } }
        var answered: Int { state.withLock { $0.answered } }
        var failures: [String] { state.withLock { $0.failures } }

        func end() { state.withLock { $0.isOver = true } }

        func note(_ reply: HTTPReply) {
            state.withLock { state in
                state.answered += 1
                if reply.status != 200 { state.failures.append("\(reply.status) \(reply.code ?? "")") }
            }
        }
    }

    private func greet(_ person: Person, at home: Installation) async throws -> HTTPReply {
        try await home.call("POST", Self.route, token: person.token, json: "{}")
    }

    /// Builds the package, and passes its tests if asked to.
    ///
    /// - Returns: a copy of the executable, which the next build leaves alone.
    private func build(_ package: URL, as name: String, testing: Bool) async throws -> URL {
        let built = try await swift(["build"] + (testing ? ["--build-tests"] : []), package, within: .seconds(50 * 60))
        try #require(built.status == 0, "\(built.transcript.suffix(5_000))")
        if testing {
            let tested = try await swift(["test", "--skip-build"], package, within: .seconds(300))
            #expect(tested.status == 0, "\(tested.transcript.suffix(5_000))")
        }
        let copy = package.appending(path: ".build/\(name)")
        try FileManager.default.copyItem(at: package.appending(path: ".build/debug/\(Self.name)"), to: copy)
        return copy
    }

    /// Starts a version with what `up` has written for it.
    private func start(_ program: URL, beside home: Installation) async throws -> ChildProcess {
        let lines = try #require(Files.text(home.data.appending(path: "secrets/meal_plans.env"))).split(separator: "\n")
        let values = lines.map { $0.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: ["'"]) } }
        return try await ChildProcess.spawn(
            Command(
                executable: program.path,
                arguments: [],
                environment: Command.inherited(Dictionary(uniqueKeysWithValues: values.map { ($0[0], $0[1]) })),
                deathSignal: "TERM",
                output: home.data.appending(path: "logs/meal_plans.log").path
            )
        )
    }

    private static func replace(_ old: String, by new: String, in file: URL) throws {
        let text = try String(contentsOf: file, encoding: .utf8)
        try #require(text.contains(old), "\(file.path) has no \(old)")
        try text.replacing(old, with: new).write(to: file, atomically: true, encoding: .utf8)
    }
}
