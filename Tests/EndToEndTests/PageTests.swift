import Foundation
import Processes
import TestSupport
import Testing

/// The pages for browsers, clicked through in headless Chromium. Pictures of them are in `.run/artefacts`, to be looked at.
struct PageTests {
    private func address(_ home: Installation) -> String { "http://127.0.0.1:\(home.http.port)" }

    @Test func `the demo is played with two phones, and what its people have is documented to the field`() async throws {
        let home = try await Installation(["--dev-clock"])
        try await eventually("it says where the demo is") {
            (Files.text(home.guardian.log) ?? "").contains("open \(address(home))/demo")
        }
        let folder = try Installation.makeFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let people = folder.appending(path: "people.json").path
        let played = try await PageScript.play("demo.py", [address(home), people], within: .seconds(900))
        #expect(played.hasSuffix("played\n"), "\(played)")
        let read = try await PageScript.play("replies.py", [address(home), people], within: .seconds(300))
        #expect(read.hasSuffix(" replies have the documented fields\n"), "\(read)")
        await home.guardian.end()
    }

    @Test func `the API is read, searched and tried in the page: light and dark, large and small, by keyboard`() async throws {
        let home = try await Installation.timeTravelling.value
        let text = try await PageScript.play("docs.py", [address(home)], within: .seconds(600))
        #expect(text.hasSuffix("read\n"), "\(text)")
    }

    @Test func `where time cannot be moved there is no demo, and a call is tried with a token`() async throws {
        let home = try await Installation.shared.value
        #expect(try await home.call("GET", "/demo").status == 404)
        #expect(!(Files.text(home.guardian.log) ?? "").contains("open \(address(home))/demo"))
        let ann = try await Person.register("ann", at: home)
        let text = try await PageScript.play("paste.py", [address(home), ann.token], within: .seconds(300))
        #expect(text.hasSuffix("tried\n"), "\(text)")
    }

    @Test func `every request of the page can be copied: curl asks what it says, and the Swift compiles`() async throws {
        let home = try await Installation.shared.value
        let ann = try await Person.register("ann", at: home)
        let folder = try Installation.makeFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let text = try await PageScript.play("snippets.py", [address(home), ann.token, folder.path], within: .seconds(300))
        #expect(text.hasSuffix("copied\n"), "\(text)")
        let file = folder.appending(path: "Calls.swift").path
        let compiled = try await run(
            "/usr/bin/env",
            ["swiftc", "-typecheck", "-swift-version", "6", file],
            within: .seconds(300)
        )
        #expect(compiled.status == 0 && !compiled.transcript.contains("warning:"), "\(compiled.transcript.suffix(4_000))")
    }

    @Test func `the changes of the API lead to what it is`() async throws {
        let home = try await Installation.shared.value
        let versions = try await home.call("GET", "/pages/changes.json").json["versions"].list
        var routes: Set<String> = []
        // The newest comes first.
        for change in versions.reversed().flatMap({ $0["changes"].list.reversed() }) {
            #expect(change["date"].string?.wholeMatch(of: /\d{4}-\d\d-\d\d/) != nil && change["text"].string?.isEmpty == false)
            for route in change["added"].list.compactMap(\.string) {
                #expect(routes.insert(route).inserted, "\(route) comes twice")
            }
            for route in change["removed"].list.compactMap(\.string) { #expect(routes.remove(route) != nil, "\(route)") }
        }
        let operations = APIOperation.all(in: try await home.call("GET", "/openapi.json").json)
        let served = Set(operations.filter { $0.json["tags"][0].string != "gateway" }.map(\.description))
        let unannounced = served.subtracting(routes).sorted()
        #expect(unannounced.isEmpty, "write them into Services/Gateway/Pages/Files/changes.json: \(unannounced)")
        #expect(routes.subtracting(served).isEmpty, "changes.json must say that they are removed")
    }
}
