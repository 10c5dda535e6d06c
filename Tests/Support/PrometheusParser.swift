private import Foundation
private import Processes

/// The parser of Prometheus's own Python client, installed once per checkout under `.run/`.
public enum PrometheusParser {
    /// The parser does not take the page.
    public struct Refused: Error, CustomStringConvertible {
        public let description: String
    }

    /// One sample as the parser understood it.
    public struct Sample: Decodable, Hashable, Sendable {
        /// The name in `# TYPE`.
        public let family: String
        /// `counter`, `gauge` or `histogram`.
        public let type: String
        /// The name in its line.
        public let name: String
        /// Its labels, unescaped.
        public let labels: [String: String]
        /// Its number.
        public let value: Double
    }

    /// The samples of a page.
    ///
    /// - Throws: `Refused` with the parser's complaint.
    public static func parse(_ page: String) async throws -> [Sample] {
        let program = """
            import json, sys
            from prometheus_client.parser import text_string_to_metric_families
            out = []
            for family in text_string_to_metric_families(sys.stdin.read()):
                assert family.documentation, family.name
                for s in family.samples:
                    out.append(dict(family=family.name, type=family.type, name=s.name, labels=s.labels, value=s.value))
            json.dump(out, sys.stdout)
            """
        let result = try await run(python.value, ["-c", program], input: Array(page.utf8))
        guard result.status == 0 else { throw Refused(description: result.transcript) }
        return try JSONDecoder().decode([Sample].self, from: Data(result.output))
    }

    private static let python = Task { () async throws -> String in
        try await PythonPackages.make("prometheus-python", ["prometheus-client>=0.20"])
    }
}
