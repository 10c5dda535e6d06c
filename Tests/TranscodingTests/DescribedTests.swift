import Foundation
import Testing
import Transcoding

/// What the page says of parts that no proto describes: envelopes, failures, the gateway's own routes, parameters that all routes share.
@Suite("The OpenAPI page describes what is the gateway's own")
struct DescribedTests {
    /// Names of properties and parameters without a description; a reference has that of what it refers to.
    private struct Walk {
        let page: [String: Any]
        private(set) var missing: [String] = []
        private(set) var count = 0

        init(_ page: [String: Any]) { self.page = page }

        private func isDescribed(_ node: [String: Any]) -> Bool {
            if let text = node["description"] as? String { return !text.isEmpty }
            guard let reference = node["$ref"] as? String else { return false }
            let target = reference.split(separator: "/").dropFirst().reduce(page as Any?) { found, name in
                (found as? [String: Any])?[String(name)]
            }
            return (target as? [String: Any]).map(isDescribed) ?? false
        }

        mutating func take(_ node: Any, named name: String) {
            count += 1
            if let node = node as? [String: Any], isDescribed(node) { return }
            missing.append(name)
        }

        /// Every property of a schema, also of those inside it.
        mutating func properties(of schema: Any?, at place: String) {
            guard let schema = schema as? [String: Any] else { return }
            for (name, property) in schema["properties"] as? [String: Any] ?? [:] {
                take(property, named: "\(place).\(name)")
                properties(of: property, at: "\(place).\(name)")
            }
            for part in schema["allOf"] as? [Any] ?? [] { properties(of: part, at: place) }
        }
    }

    private func kitchen() throws -> [String: Any] {
        let routes = try Fixture.routes().routes
        let document = OpenAPI.document(routes, title: "Kitchen", version: "1", developmentClock: true, today: Fixture.day)
        let page = try JSONSerialization.jsonObject(with: Data(document))
        return try #require(page as? [String: Any])
    }

    private func schemas(_ page: [String: Any]) -> [String: Any] {
        (page["components"] as? [String: Any])?["schemas"] as? [String: Any] ?? [:]
    }

    @Test func `Every property of an envelope, a failure and the gateway's own replies has a description`() throws {
        let page = try kitchen()
        var walk = Walk(page)
        for (name, schema) in schemas(page) {
            if name.hasSuffix("Success") {
                // What `data` holds is the proto's to describe.
                let parts = (schema as? [String: Any])?["properties"] as? [String: Any] ?? [:]
                for part in ["success", "data", "meta"] { walk.take(parts[part] ?? "", named: "\(name).\(part)") }
                walk.properties(of: parts["meta"], at: "\(name).meta")
            } else if !name.hasPrefix("Kitchen") || name.hasSuffix("Error") {
                walk.properties(of: schema, at: name)
            }
        }
        #expect(walk.missing.isEmpty, "\(walk.missing.sorted())")
        #expect(walk.count > 40, "the walk finds them: \(walk.count)")
    }

    @Test func `Every parameter of the gateway's own routes has a description`() throws {
        let page = try kitchen()
        var walk = Walk(page)
        for (path, item) in page["paths"] as? [String: Any] ?? [:] {
            for (verb, value) in item as? [String: Any] ?? [:] {
                guard let operation = value as? [String: Any], operation["tags"] as? [String] == ["gateway"] else { continue }
                for parameter in operation["parameters"] as? [Any] ?? [] { walk.take(parameter, named: "\(verb) \(path)") }
            }
        }
        #expect(walk.missing.isEmpty && walk.count > 3, "\(walk.missing.sorted())")
    }
}
