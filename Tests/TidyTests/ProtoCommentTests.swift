import Testing

/// The description of the API is made of the protos' comments: a developer of an app has nothing else to read.
struct ProtoCommentTests {
    private let tree: SourceTree

    init() throws { tree = try SourceTree.loaded.get() }

    @Test func `every field that the public API takes or answers says what it is`() {
        // What the tests' own service has, no app sees.
        let protos = tree.files(below: "Proto/streaksnap/", ending: ".proto").filter { !$0.path.contains("/testing/") }
        let messages = protos.reduce(into: [String: Message]()) { all, file in
            for message in Self.messages(of: file.text, path: file.path) { all[message.name] = message }
        }
        let shown = Self.reachable(from: protos.flatMap { Self.published(by: $0.text) }, messages)
        let fields = shown.compactMap { messages[$0] }.flatMap { message in message.fields.map { (message, $0) } }
        #expect(shown.count > 400 && fields.count > 2_000, "the rule finds the fields: \(fields.count) of \(shown.count)")
        let violations = fields.compactMap { message, field -> Violation? in
            guard let problem = Self.problem(of: field) else { return nil }
            let name = message.name.split(separator: ".").last ?? ""
            return Violation(path: message.path, line: field.line, problem: "\(name).\(field.name) \(problem)")
        }
        expectNone(violations, "A comment above the field: what it is, its unit and range, when it is absent.")
    }

    @Test func `finds the fields of published methods, and those inside them`() {
        let proto = """
            package streaksnap.kitchen.v1;
            service Kitchen {
              rpc Cook(CookRequest) returns (Dish) {
                option (google.api.http) = {post: "/api/cook"};
                option (streaksnap.options.v1.method) = {stream: {kinds: [{name: "done" data: "streaksnap.kitchen.v1.DoneEvent"}]}};
              }
              rpc Hide(HideRequest) returns (streaksnap.common.v1.Empty) {
                option (streaksnap.options.v1.method) = {auth: AUTH_INTERNAL};
              }
            }
            message CookRequest {
              option (streaksnap.options.v1.page) = {standard: 50 most: 100};
              // How hot, in degrees.
              int32 heat = 1 [(streaksnap.options.v1.field) = {
                gte: 0
              }];
              oneof sort {
                // By which part it is sorted.
                string sort_name = 2;
                string other = 3;
              }
            }
            message Dish {
              // Of what it is made.
              repeated Part parts = 1;
              // Each by its name.
              map<string, streaksnap.common.v1.Place> places = 2;
            }
            message Part {
              // The id of the part.
              string part_id = 1;
            }
            message DoneEvent {
              // Seconds that it took.
              int32 time = 1;
            }
            message HideRequest {
              string secret = 1;
            }
            """
        let messages = Dictionary(uniqueKeysWithValues: Self.messages(of: proto, path: "kitchen.proto").map { ($0.name, $0) })
        #expect(Self.published(by: proto) == ["CookRequest", "Dish", "DoneEvent"].map { "streaksnap.kitchen.v1." + $0 })
        let shown = Self.reachable(from: Self.published(by: proto), messages)
        #expect(shown.sorted() == ["CookRequest", "Dish", "DoneEvent", "Part"].map { "streaksnap.kitchen.v1." + $0 })
        let fields = messages["streaksnap.kitchen.v1.CookRequest"]?.fields ?? []
        #expect(
            fields.map { "\($0.line) \($0.name) \(Self.problem(of: $0) ?? "fine")" } == [
                "14 heat fine", "19 sort_name fine", "20 other has no comment",
            ]
        )
        #expect(messages["streaksnap.kitchen.v1.Dish"]?.types == ["streaksnap.kitchen.v1.Part", "streaksnap.common.v1.Place"])
        let id = messages["streaksnap.kitchen.v1.Part"]?.fields.first
        #expect(id.flatMap { Self.problem(of: $0) } == "has a comment that says no more than its name")
    }

    private struct Field {
        let name: String
        let line: Int
        let comment: String
    }

    private struct Message {
        /// `streaksnap.auth.v1.Me`.
        let name: String
        let path: String
        var fields: [Field] = []
        /// Of its fields, whole names.
        var types: [String] = []
    }

    /// Words that say nothing by themselves.
    private static let small = ["a", "an", "as", "id", "ids", "in", "is", "it", "its", "of", "s", "that", "the", "this"]

    private static func problem(of field: Field) -> String? {
        if field.comment.isEmpty { return "has no comment" }
        let name = field.name.split(separator: "_").map(String.init)
        let known = Set(name + name.map { $0 + "s" } + small)
        let words = field.comment.lowercased().split { !$0.isLetter && !$0.isNumber }.map(String.init)
        return words.allSatisfy(known.contains) ? "has a comment that says no more than its name" : nil
    }

    private static func package(of proto: String) -> String {
        proto.firstMatch(of: #/package ([\w.]+);/#).map { String($0.1) } ?? ""
    }

    /// Requests and replies of methods that have a route, and the events of their streams.
    private static func published(by proto: String) -> [String] {
        let package = package(of: proto)
        return proto.split(separator: "\n  rpc ").dropFirst().flatMap { text -> [String] in
            let method = text.prefix(upTo: text.firstRange(of: "\n  }")?.lowerBound ?? text.endIndex)
            guard method.contains("(google.api.http)"),
                let types = method.firstMatch(of: #/^\w+\(([\w.]+)\) returns \(([\w.]+)\)/#)
            else { return [] }
            let events = method.matches(of: #/data: "([\w.]+)"/#).map { String($0.1) }
            return [types.1, types.2].map { whole(String($0), in: package) } + events
        }
    }

    private static func whole(_ type: String, in package: String) -> String { type.contains(".") ? type : "\(package).\(type)" }

    /// The messages of a file; they are not nested.
    private static func messages(of proto: String, path: String) -> [Message] {
        let package = package(of: proto)
        var (messages, comment) = ([Message](), "")
        for (index, text) in proto.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = text.drop { $0 == " " }
            if let head = text.firstMatch(of: #/^message (\w+) \{/#) {
                messages.append(Message(name: "\(package).\(head.1)", path: path))
            }
            let field = line.firstMatch(of: #/^(?:optional |repeated |map<\w+, )?([\w.]+)>? (\w+) = \d+/#)
            if let field, text.hasPrefix("  "), !messages.isEmpty {
                let place = messages.count - 1
                messages[place].fields.append(Field(name: String(field.2), line: index + 1, comment: comment))
                messages[place].types.append(whole(String(field.1), in: package))
            }
            comment = line.hasPrefix("//") ? comment + line.dropFirst(2) : ""
        }
        return messages
    }

    /// These messages and all that are part of them.
    private static func reachable(from names: [String], _ messages: [String: Message]) -> Set<String> {
        var (waiting, found) = (names, Set<String>())
        while let name = waiting.popLast() {
            guard let message = messages[name], found.insert(name).inserted else { continue }
            waiting += message.types
        }
        return found
    }
}
