internal import FoundationEssentials

/// The JSON file of `--config`: objects within objects, whose keys joined by dots are the settings' keys.
struct ConfigurationFile {
    /// Every value as text, by its key.
    let values: [String: String]

    /// Reads the file at `path`.
    ///
    /// - Throws: when it cannot be read, is no JSON object, or holds something that is no setting, such as a list.
    init(path: String) throws {
        let root = try JSONDecoder().decode([String: Node].self, from: Data(contentsOf: URL(filePath: path)))
        var values: [String: String] = [:]
        Self.collect(root, prefix: "", into: &values)
        self.values = values
    }

    private static func collect(_ nodes: [String: Node], prefix: String, into values: inout [String: String]) {
        for (name, node) in nodes {
            switch node {
            case .value(let text): values[prefix + name] = text
            case .object(let inner): collect(inner, prefix: prefix + name + ".", into: &values)
            }
        }
    }

    private enum Node: Decodable {
        case value(String)
        case object([String: Node])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                self = .value(text)
            } else if let isOn = try? container.decode(Bool.self) {
                self = .value(String(isOn))
            } else if let number = try? container.decode(Int.self) {
                self = .value(String(number))
            } else if let number = try? container.decode(Double.self) {
                self = .value(String(number))
            } else {
                self = .object(try container.decode([String: Node].self))
            }
        }
    }
}
