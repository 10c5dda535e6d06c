import Foundation

/// What may be wrong with a value, by its schema.
struct MistakeValues {
    let schemas: JSON

    /// A schema, its reference followed.
    func resolved(_ schema: JSON) -> JSON {
        guard let reference = schema["$ref"].string?.split(separator: "/").last else { return schema }
        return schemas[String(reference)]
    }

    /// The JSON type; a value that may be absent has `null` beside it.
    func type(_ schema: JSON) -> String? {
        schema["type"].string ?? schema["type"].list.compactMap(\.string).first { $0 != "null" }
    }

    /// Of a member of a body.
    ///
    /// - Parameter example: what is right.
    func inBody(_ schema: JSON, isRequired: Bool, example: JSON) -> [Mistake.Value] {
        let schema = resolved(schema)
        let missing = ["required", "must"]
        var values: [Mistake.Value] = []
        if isRequired {
            values += [
                Mistake.Value(name: "missing", text: nil, says: missing),
                Mistake.Value(name: "null", text: "null", says: missing),
            ]
        }
        switch type(schema) {
        case "string":
            values.append(Mistake.Value(name: "a number", text: "7", says: ["must be"]))
            if isRequired { values.append(Mistake.Value(name: "empty", text: "\"\"", says: missing)) }
            values += texts(schema).map { Mistake.Value(name: $0.name, text: quoted($0.text ?? ""), says: $0.says) }
        case "integer", "number":
            values.append(Mistake.Value(name: "a text", text: "\"x\"", says: ["integer", "number"]))
            if type(schema) == "integer" { values.append(Mistake.Value(name: "a fraction", text: "1.5", says: ["integer"])) }
            values += numbers(schema)
        case "boolean": values.append(Mistake.Value(name: "a text", text: "\"yes\"", says: ["true or false"]))
        case "array": values += lists(schema, isRequired: isRequired)
        case "object":
            values.append(Mistake.Value(name: "a number", text: "7", says: ["must be an object"]))
            values.append(Mistake.Value(name: "a list", text: "[]", says: ["must be an object"]))
            if schema["additionalProperties"].bool == false {
                var members: [String: JSON] = example.names.reduce(into: [:]) { $0[$1] = example[$1] }
                members["nonesuch"] = .bool(true)
                let text = JSON.object(members).written
                values.append(
                    Mistake.Value(name: "unknown member", text: text, place: ".nonesuch", says: ["not a known field"])
                )
            }
        default: break
        }
        return values
    }

    /// Of a parameter of a path or a query.
    func inText(_ schema: JSON) -> [Mistake.Value] {
        let schema = resolved(schema)
        switch type(schema) {
        case "string": return texts(schema)
        case "integer", "number":
            return [Mistake.Value(name: "a text", text: "x", says: ["integer", "number"])] + numbers(schema)
        case "boolean": return [Mistake.Value(name: "a text", text: "maybe", says: ["true or false"])]
        case "array":
            return texts(resolved(schema["items"])).map {
                Mistake.Value(name: $0.name, text: $0.text, place: "[0]", says: $0.says)
            }
        default: return []
        }
    }

    private func texts(_ schema: JSON) -> [Mistake.Value] {
        let allowed = schema["enum"].list.compactMap(\.string)
        if let first = allowed.first {
            return [Mistake.Value(name: "no such value", text: "nonesuch", says: [first, allowed.last ?? first])]
        }
        switch schema["format"].string {
        case "uuid": return [Mistake.Value(name: "no id", text: "42", says: ["UUID"])]
        case "date":
            return ["2026-02-30", "02/03/2026"].map { (text: String) in
                Mistake.Value(name: "\(text) for a date", text: text, says: ["YYYY-MM-DD"])
            }
        case "date-time":
            return ["yesterday", "2026-01-02 03:04"].map { (text: String) in
                Mistake.Value(name: "\(text) for a time", text: text, says: ["RFC 3339"])
            }
        default: break
        }
        var values: [Mistake.Value] = []
        if schema["format"].string == "email" { values.append(Mistake.Value(name: "no address", text: "ada", says: ["e-mail"])) }
        if let most = schema["x-max-characters"].int ?? schema["maxLength"].int {
            values.append(Mistake.Value(name: "too long", text: String(repeating: "x", count: most + 1), says: ["\(most)"]))
        }
        if let least = schema["minLength"].int, least > 1 {
            values.append(Mistake.Value(name: "too short", text: String(repeating: "x", count: least - 1), says: ["\(least)"]))
        }
        if !schema["pattern"].isNull { values.append(Mistake.Value(name: "of another form", text: "!é!", says: ["must"])) }
        return values
    }

    private func numbers(_ schema: JSON) -> [Mistake.Value] {
        var values: [Mistake.Value] = []
        if let most = schema["maximum"].int {
            values.append(Mistake.Value(name: "too high", text: "\(most + 1)", says: ["\(most)"]))
        }
        if let least = schema["minimum"].int {
            values.append(Mistake.Value(name: "too low", text: "\(least - 1)", says: ["\(least)"]))
        }
        return values
    }

    private func lists(_ schema: JSON, isRequired: Bool) -> [Mistake.Value] {
        let element = resolved(schema["items"])
        var values: [Mistake.Value] = [
            Mistake.Value(name: "a number", text: "7", says: ["must be an array"]),
            Mistake.Value(name: "a list in a list", text: "[[]]", place: "[0]", says: ["must be"]),
        ]
        if isRequired { values.append(Mistake.Value(name: "no entry", text: "[]", says: ["required", "must"])) }
        if let most = schema["maxItems"].int, most <= 1_000, type(element) != "object" {
            let entry = type(element) == "string" ? quoted(element["enum"].list.first?.string ?? UUID().uuidString) : "1"
            let entries = Array(repeating: entry, count: most + 1).joined(separator: ",")
            values.append(Mistake.Value(name: "too many", text: "[\(entries)]", says: ["\(most)"]))
        }
        if type(element) == "string" {
            values += texts(element).map {
                Mistake.Value(name: $0.name, text: "[\(quoted($0.text ?? ""))]", place: "[0]", says: $0.says)
            }
        }
        return values
    }
}
