import Foundation
import Testing

/// Bodies as a published interface shows them, to hold ours against: the same names, types, nesting and nulls.
///
/// An example stands for its type; `<number>`, `<string|null>`, `<string[]>` say it. Several examples of one body are its variants: a name
/// that one of them leaves out may be null or missing, and so may one that ends in `?`.
struct PublishedShape {
    private let variants: [JSON]
    /// What ours has besides, by path: `data.repair`.
    let additions: Set<String>
    /// What may be null although no variant says so.
    let nullable: Set<String>

    init(_ variants: [JSON], additions: Set<String> = [], nullable: Set<String> = []) {
        (self.variants, self.additions, self.nullable) = (variants, additions, nullable)
    }

    /// The fixture of a route: `request`, `reply` or `error`.
    static func fixture(_ name: String, _ part: String) throws -> [JSON] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let bytes = try Data(contentsOf: folder.appending(path: "Fixtures/check-ins/\(name).json"))
        return try JSON(Array(bytes))[part].list
    }

    /// Where a body differs; empty when it does not.
    func differences(_ body: JSON) -> [String] { differences(variants, body, "") }

    private func differences(_ variants: [JSON], _ value: JSON, _ path: String) -> [String] {
        switch value {
        case .object: object(variants, value, path)
        case .array(let elements):
            elements.flatMap { differences(variants.flatMap(Self.elements), $0, path) }
                + (variants.contains { Self.type(of: $0).hasSuffix("[]") || !$0.isScalar } ? [] : ["\(path) is a list"])
        default:
            variants.contains { Self.type(of: $0).split(separator: "|").contains { $0 == Self.type(of: value) } }
                ? [] : ["\(path) is \(value), not \(variants)"]
        }
    }

    private func object(_ variants: [JSON], _ value: JSON, _ path: String) -> [String] {
        var found: [String] = []
        var examples: [String: [JSON]] = [:]
        var optional: Set<String> = []
        let objects = variants.filter { !$0.names.isEmpty }
        if objects.isEmpty, !variants.contains(.object([:])) { return ["\(path) is an object"] }
        for variant in objects {
            for name in variant.names {
                let bare = name.hasSuffix("?") ? String(name.dropLast()) : name
                if bare != name { optional.insert(bare) }
                examples[bare, default: []].append(variant[name])
            }
        }
        for (name, known) in examples {
            let inner = path.isEmpty ? name : "\(path).\(name)"
            let mayMiss = optional.contains(name) || known.count < objects.count
            let mayBeNull =
                mayMiss || known.contains { $0.isNull || Self.type(of: $0).contains("null") } || nullable.contains(inner)
            if !value.names.contains(name) {
                if !mayMiss { found.append("\(inner) is missing") }
            } else if value[name].isNull {
                if !mayBeNull { found.append("\(inner) is null") }
            } else {
                found += differences(known.filter { !$0.isNull }, value[name], inner)
            }
        }
        for name in value.names.subtracting(examples.keys) {
            let inner = path.isEmpty ? name : "\(path).\(name)"
            if !additions.contains(inner) { found.append("\(inner) is not published") }
        }
        return found
    }

    private static func elements(_ list: JSON) -> [JSON] {
        if case .string("<string[]>") = list { return [.string("<string>")] }
        return list.list
    }

    private static func type(of value: JSON) -> String {
        switch value {
        case .null: "null"
        case .bool: "boolean"
        case .number: "number"
        case .string(let text) where text.hasPrefix("<") && text.hasSuffix(">"): String(text.dropFirst().dropLast())
        case .string: "string"
        case .array: "[]"
        case .object: "{}"
        }
    }
}

extension JSON {
    fileprivate var isScalar: Bool {
        switch self {
        case .array, .object: false
        case .null, .bool, .number, .string: true
        }
    }
}
