import Foundation

/// The mistakes that can be made with an operation, from its description.
struct MistakeList {
    private let operation: APIOperation
    private let values: MistakeValues
    /// With its parameters filled: ids lead nowhere.
    private let target: String
    private let schema: JSON
    private let example: [String: JSON]
    private(set) var all: [Mistake] = []

    /// - Parameter page: the description of the API.
    init(_ operation: APIOperation, in page: JSON) {
        self.operation = operation
        values = MistakeValues(schemas: page["components"]["schemas"])
        target = Self.address(operation)
        schema = values.resolved(operation.body)
        let sent = operation.json["requestBody"]["content"]["application/json"]["example"]
        example = sent.names.reduce(into: [:]) { $0[$1] = sent[$1] }
        addParameters()
        if operation.body.isNull { addBodies() } else { addJSON() }
        addPaths(page["paths"][operation.path].names)
        addHeaders()
    }

    private var body: [UInt8]? { operation.body.isNull ? nil : Array(JSON.object(example).written.utf8) }

    /// - Parameter other: what stands for one of the parameters of the path.
    private static func address(_ operation: APIOperation, _ other: [String: String] = [:]) -> String {
        let parameters = operation.json["parameters"].list.filter { $0["in"].string == "path" }
        return parameters.reduce(operation.path) { path, parameter in
            let name = parameter["name"].string ?? ""
            let value = other[name] ?? parameter["example"].string ?? UUID().uuidString.lowercased()
            return path.replacing("{\(name)}", with: escaped(value))
        }
    }

    private static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(CharacterSet(charactersIn: "-._"))) ?? text
    }

    private mutating func add(_ name: String, _ target: String? = nil, _ change: (inout Mistake) -> Void) {
        all.append(
            Mistake(operation, name, target ?? self.target) { mistake in
                mistake.body = body
                if body != nil { mistake.headers = [("Content-Type", "application/json")] }
                change(&mistake)
            }
        )
    }

    // MARK: Parameters

    private mutating func addParameters() {
        let parameters = operation.json["parameters"].list
        let names = parameters.compactMap { $0["name"].string }
        for parameter in parameters {
            guard let name = parameter["name"].string else { continue }
            let wrong = values.inText(parameter["schema"])
            switch parameter["in"].string {
            // Of an upload without a form that is said first.
            case "path" where !operation.isUpload || !operation.body.isNull:
                // A text of any length or form may name something that is not there.
                for value in wrong where ["no id", "2026-02-30 for a date", "no such value"].contains(value.name) {
                    add("\(name): \(value.name)", Self.address(operation, [name: value.text ?? ""])) {
                        ($0.fields, $0.says) = ([name], value.says)
                    }
                }
            case "query":
                for value in wrong { addQuery("\(name): \(value.name)", [(name, value.text)], [name + value.place], value.says) }
                if parameter["required"].bool == true {
                    addQuery("\(name): missing", [(name, nil)], [name], ["required", "must"])
                }
                if values.type(values.resolved(parameter["schema"])) != "array", let text = Self.text(parameter["example"]) {
                    addQuery("\(name): twice", [(name, text), (name, text)], [name], ["twice"])
                }
                let near = String(name.dropLast())
                if name.count > 4, !names.contains(near) { addQuery("\(near): unknown", [(near, "1")], [near], [name]) }
            default: break
            }
        }
    }

    private static func text(_ value: JSON) -> String? { value.string ?? (value.isNull ? nil : value.written) }

    /// - Parameter pairs: instead of what is required of the same name; nil to leave it out.
    private mutating func addQuery(_ name: String, _ pairs: [(String, String?)], _ fields: [String], _ says: [String]) {
        let others = operation.json["parameters"].list.compactMap { parameter -> (String, String?)? in
            guard parameter["in"].string == "query", parameter["required"].bool == true, let name = parameter["name"].string,
                !pairs.contains(where: { $0.0 == name })
            else { return nil }
            return (name, Self.text(parameter["example"]))
        }
        let query = (others + pairs).compactMap { pair in pair.1.map { "\(pair.0)=\(Self.escaped($0))" } }.joined(separator: "&")
        add(name, "\(target)?\(query)") { ($0.fields, $0.says) = (fields, says) }
    }

    // MARK: Bodies

    private mutating func addBodies() {
        if operation.isUpload {
            add("JSON for a form") {
                ($0.body, $0.headers) = (Array("{}".utf8), [("Content-Type", "application/json")])
                ($0.status, $0.code, $0.says) = (415, "UNSUPPORTED_MEDIA_TYPE", ["multipart/form-data"])
            }
        } else if operation.json["requestBody"].isNull {
            add("a body where there is none") {
                ($0.body, $0.headers) = (Array("{\"nonesuch\":1}".utf8), [("Content-Type", "application/json")])
                ($0.fields, $0.says) = (["nonesuch"], ["not a known field"])
            }
        }
    }

    private mutating func addText(_ name: String, _ text: String, fields: [String] = [""], _ says: [String]) {
        add(name) { ($0.body, $0.fields, $0.says) = (Array(text.utf8), fields, says) }
    }

    private mutating func addJSON() {
        let text = JSON.object(example).written
        addText("a list as the body", "[]", ["JSON object"])
        addText("a trailing comma", String(text.dropLast()) + (example.isEmpty ? "\"a\":1,}" : ",}"), ["valid JSON"])
        addText("no JSON", "name=value", ["valid JSON"])
        addText("a body that is cut off", String(text.dropLast()), ["valid JSON"])
        for type in ["text/plain", "application/x-www-form-urlencoded"] {
            add(type) {
                $0.headers = [("Content-Type", type)]
                ($0.status, $0.code, $0.says) = (415, "UNSUPPORTED_MEDIA_TYPE", ["application/json"])
            }
        }
        let required = schema["required"].list.compactMap(\.string)
        if !required.isEmpty {
            addText("an empty object", "{}", fields: required, ["required", "must"])
            add("no body") { ($0.body, $0.headers, $0.fields, $0.says) = (nil, [], required, ["required", "must"]) }
        }
        let names = schema["properties"].names
        for name in names.sorted() {
            let member = schema["properties"][name]
            for value in values.inBody(member, isRequired: required.contains(name), example: example[name] ?? .null) {
                addText("\(name): \(value.name)", with([(name, value.text)]), fields: [name + value.place], value.says)
            }
            if let sent = example[name] {
                let twice = "{\(quoted(name)):\(sent.written)," + text.dropFirst()
                addText("\(name): twice", twice, fields: [name], ["twice"])
            }
            let near = String(name.dropLast())
            if name.count > 4, !names.contains(near) {
                addText("\(near): unknown", with([(near, "1")]), fields: [near], [name])
            }
        }
        addTwo(required)
    }

    /// The example with other members.
    private func with(_ members: [(name: String, text: String?)]) -> String {
        var texts = example.mapValues { $0.written }
        for member in members { texts[member.name] = member.text }
        return "{\(texts.keys.sorted().map { "\(quoted($0)):\(texts[$0] ?? "")" }.joined(separator: ","))}"
    }

    /// Values that have the right type and cannot be read.
    private static let unreadable = ["no id", "2026-02-30 for a date", "yesterday for a time", "no such value"]

    /// A value of a wrong type, or one that cannot be read, and a second mistake of any kind elsewhere.
    private mutating func addTwo(_ required: [String]) {
        let properties = schema["properties"]
        let members = properties.names.sorted().map { name in
            (
                name: name,
                wrong: values.inBody(properties[name], isRequired: required.contains(name), example: example[name] ?? .null)
            )
        }
        for (index, first) in members.enumerated() {
            let second = members[(index + 1) % members.count]
            guard second.name != first.name else { continue }
            for (kinds, word) in [(["a number", "a text"], "and"), (Self.unreadable, "beside")] {
                guard let one = first.wrong.first(where: { kinds.contains($0.name) && $0.place.isEmpty }) else { continue }
                for value in second.wrong where value.place.isEmpty {
                    let text = with([(first.name, one.text), (second.name, value.text)])
                    let name = "\(first.name) and \(second.name): \(one.name) \(word) \(value.name)"
                    addText(name, text, fields: [first.name, second.name], one.says)
                }
            }
        }
    }

    // MARK: Paths and headers

    /// - Parameter verbs: that the path takes.
    private mutating func addPaths(_ verbs: Set<String>) {
        let own = operation.verb
        for verb in ["PATCH", "PUT"] where !verbs.contains(verb.lowercased()) {
            add("\(verb) instead") {
                ($0.verb, $0.status, $0.code, $0.says) = (verb, 405, "METHOD_NOT_ALLOWED", [own])
            }
        }
        let place = String(operation.path.prefix { $0 != "{" })
        add("a slash behind the path", target + "/") { ($0.status, $0.code, $0.says) = (404, "NOT_FOUND", [place]) }
        let parts = operation.path.split(separator: "/").map(String.init)
        guard let last = parts.lastIndex(where: { !$0.hasPrefix("{") && $0.count > 3 }) else { return }
        var sent = target.split(separator: "/").map(String.init)
        guard sent.count == parts.count else { return }
        sent[last] = String(sent[last].dropLast(2)) + String(sent[last].suffix(2).reversed())
        guard sent[last] != parts[last] else { return }
        add("a slip in \(parts[last])", "/" + sent.joined(separator: "/")) {
            // Another path may have it in the place of an id.
            ($0.status, $0.says) = (nil, [parts[last]])
        }
    }

    private mutating func addHeaders() {
        if operation.verb == "POST" {
            for key in [String(repeating: "k", count: 256), "with space"] {
                add("a key of \(key.count) characters") {
                    $0.headers.append(("Idempotency-Key", key))
                    ($0.fields, $0.says) = (["Idempotency-Key"], ["1 to 255"])
                }
            }
        }
        guard ["user", "admin"].contains(operation.auth) else { return }
        add("no token") { ($0.token, $0.status, $0.code) = ("", 401, "AUTHENTICATION_REQUIRED") }
        add("a made-up token") { ($0.token, $0.status, $0.code, $0.says) = ("a.b.c", 401, "INVALID_TOKEN", ["token"]) }
    }
}
