// Per service: its endpoints, and one function a method.
extension ClientEmitter {
    func endpoints(_ methods: [ClientMethod], _ file: ProtoFile, _ namespace: String) throws -> String {
        var source = SourceText(origin: file.name, imports: [])
        source.line()
        source.line("/// How the methods of `\(methods[0].service.name)` travel.")
        try source.block("extension \(namespace)") { source in
            let name = "\(methods[0].service.name)Endpoints"
            source.line(
                "/// The methods of `\(methods[0].service.name)` as values: for ``StreakSnap/call(_:_:options:)`` and ``OfflineQueue``."
            )
            try source.block("public enum \(name)") { source in
                for method in methods {
                    source.doc(method.method.comment.isEmpty ? " `\(method.method.name)`." : method.method.comment)
                    source.line("public static let \(method.name) = \(try endpointType(method))(\(route(method)))")
                }
            }
        }
        return source.text
    }

    private func endpointType(_ method: ClientMethod) throws -> String {
        if method.http.isStream { return "StreamEndpoint" }
        let reply = method.http.isFile ? "FileReply" : try client.swiftType(method.method.output)
        return "Endpoint<\(try client.swiftType(method.method.input)), \(reply)>"
    }

    private func route(_ method: ClientMethod) -> String {
        let http = method.http
        var parts = [
            "name: \"\(method.service.name).\(method.method.name)\"", "verb: \"\(http.verb)\"",
            "path: \(SourceText.literal(http.template))",
        ]
        if http.body == "*" {
            parts.append("body: .all")
        } else if !http.body.isEmpty {
            parts.append("body: .field(\"\(http.body)\")")
        }
        let auth = ["none", "guest", "user", "admin"]
        let name = http.auth == .none ? auth[0] : http.auth == .guest ? auth[1] : http.auth == .admin ? auth[3] : auth[2]
        parts.append("auth: .\(name)")
        if http.timeout != 10_000 { parts.append("timeout: .milliseconds(\(http.timeout))") }
        if let upload = http.upload { parts.append("part: \"\(upload.part)\"") }
        if !http.rawHeaders.isEmpty {
            parts.append("headers: [" + http.rawHeaders.map { "\"\($0.name)\": \"\($0.field)\"" }.joined(separator: ", ") + "]")
        }
        if http.isBare { parts.append("form: .bare") }
        if http.isExact, hasData(method) { parts.append("form: .whole") }
        return "Route(\(parts.joined(separator: ", ")))"
    }

    /// Whether the reply's field `data` is the reply's data (`exact`).
    private func hasData(_ method: ClientMethod) -> Bool {
        guard let output = try? client.schema.message(method.method.output) else { return false }
        return output.fields.contains { $0.name == "data" && !$0.isRepeated && $0.messageType != nil }
    }

    func methods(_ methods: [ClientMethod], _ file: ProtoFile, _ namespace: String) throws -> String {
        let usesFoundation = try methods.contains { method in
            guard !method.http.isStream else { return false }
            let properties = try client.properties(try client.schema.message(method.method.input))
            return method.http.isFile || method.http.rawField != nil
                || properties.contains { ["Data", "Date", "[Data]", "[Date]"].contains($0.type) }
        }
        var source = SourceText(origin: file.name, imports: usesFoundation ? ["public import Foundation"] : [])
        source.line()
        try source.block("extension \(namespace)") { source in
            var isFirst = true
            for isAdmin in [false, true] {
                let own = methods.filter { $0.isAdmin == isAdmin }
                guard let first = own.first else { continue }
                if !isFirst { source.line() }
                isFirst = false
                source.doc(first.service.comment.isEmpty ? " Methods of `\(first.service.name)`." : first.service.comment)
                let name = "\(first.service.name)\(isAdmin ? "Admin" : "")Methods"
                try source.block("public struct \(name): Sendable") { source in
                    source.line("let client: StreakSnapClient.StreakSnap")
                    source.line()
                    source.line("init(_ client: StreakSnapClient.StreakSnap) { self.client = client }")
                    for method in own { try function(method, namespace, &source) }
                }
            }
        }
        return source.text
    }

    private func function(_ method: ClientMethod, _ namespace: String, _ source: inout SourceText) throws {
        let endpoint = "\(namespace).\(method.service.name)Endpoints.\(method.name)"
        source.line()
        source.doc(method.method.comment.isEmpty ? " Calls `\(method.method.name)`." : method.method.comment)
        if method.http.isStream {
            source.line("///")
            source.line("/// The stream resumes by itself where it was, until the loop over it ends or its task is cancelled.")
            source.line("public func \(method.name)() -> ServerEvents { client.events(from: \(endpoint)) }")
            return
        }
        let message = try client.schema.message(method.method.input)
        let properties = try client.properties(message)
        let request =
            "\(try client.swiftType(method.method.input))(\(properties.map { "\($0.name): \($0.name)" }.joined(separator: ", ")))"
        let extras = try Extras(method, properties, message)
        document(properties, extras, method, &source)
        source.line("@discardableResult")
        source.line("public func \(method.name)(")
        let parameters = extras.leading + properties.map(\.parameter) + extras.trailing
        for (index, parameter) in parameters.enumerated() {
            source.line("    \(parameter)\(index + 1 < parameters.count ? "," : "")")
        }
        let reply = method.http.isFile ? "FileReply" : try client.swiftType(method.method.output)
        source.block(") async throws -> \(reply)") { source in
            source.line("try await client.call(")
            source.line("    \(endpoint),")
            source.line("    \(request)\(extras.arguments)")
            source.line(")")
        }
        try pages(method, message, properties, endpoint, request, extras, &source)
    }

    /// Parameters of a call that are not of its message.
    private struct Extras {
        var leading: [String] = []
        var trailing: [String] = []
        /// Follows the request.
        var arguments = ""
        var documentation: [(name: String, text: String)] = []
        let options: String

        init(_ method: ClientMethod, _ properties: [ClientProperty], _ message: ProtoMessage) throws {
            let taken = Set(properties.map(\.name))
            /// Another name when a field has it.
            func free(_ name: String) -> String {
                taken.contains(name) ? "call" + name.prefix(1).uppercased() + name.dropFirst() : name
            }
            if let upload = method.http.upload {
                let name = free(SwiftName.member(upload.part))
                let field = message.fields.first { $0.name == upload.field }
                let isRequired = field?.rules.isRequired ?? true
                leading.append(isRequired ? "\(name): UploadFile" : "\(name): UploadFile? = nil")
                arguments += ", file: \(name)"
                let comment = field?.comment.split(separator: "\n").first.map { String($0.drop { $0 == " " }) }
                documentation.append((name, comment ?? "The file."))
            }
            if method.http.rawField != nil {
                let (name, type) = (free("data"), free("contentType"))
                leading += ["\(name): Data", "\(type): String = \"application/octet-stream\""]
                arguments += ", data: \(name), contentType: \(type)"
                documentation.append((name, "The body as it is."))
                documentation.append((type, "Its media type."))
            }
            if method.http.isFile {
                let name = free("destination")
                trailing.append("\(name): URL? = nil")
                arguments += ", to: \(name)"
                documentation.append((name, "Where the file is written, chunk by chunk; without it the bytes are in the reply."))
            }
            options = free("options")
            trailing.append("\(options): CallOptions = .standard")
            arguments += ", options: \(options)"
            documentation.append((options, "Deadline, retries and idempotency key."))
            if method.http.upload != nil {
                let name = free("progress")
                trailing.append("\(name): UploadProgress.Handler? = nil")
                arguments += ", progress: \(name)"
                documentation.append((name, "Called as bytes are sent."))
            }
        }
    }

    private func document(
        _ properties: [ClientProperty],
        _ extras: Extras,
        _ method: ClientMethod,
        _ source: inout SourceText
    ) {
        source.line("///")
        source.line("/// - Parameters:")
        for (name, text) in extras.documentation.filter({ $0.name != extras.options }) { source.line("///   - \(name): \(text)") }
        for property in properties {
            let lines = property.field.comment.split(separator: "\n").map { $0.drop { $0 == " " } }
            source.line("///   - \(property.name): \(lines.first ?? "`\(property.field.name)`.")")
            for line in lines.dropFirst() { source.line("///     \(line)") }
        }
        source.line("///   - \(extras.options): Deadline, retries and idempotency key.")
        if !method.http.reasons.isEmpty {
            source.line(
                "/// - Throws: ``StreakSnapError``; of its own the method answers with "
                    + method.http.reasons.sorted().map { "`\($0)`" }.joined(separator: ", ") + "."
            )
        }
    }

    /// A list's pages, and its entries where it has one list, as sequences.
    private func pages(
        _ method: ClientMethod,
        _ message: ProtoMessage,
        _ properties: [ClientProperty],
        _ endpoint: String,
        _ request: String,
        _ extras: Extras,
        _ source: inout SourceText
    ) throws {
        guard message.page != nil, !method.http.isFile, extras.leading.isEmpty else { return }
        let output = try client.schema.message(method.method.output)
        guard let meta = output.fields.first(where: { $0.name == "meta" })?.messageType,
            try client.schema.message(meta).fields.contains(where: { $0.name == "next_cursor" })
        else { return }
        let reply = try client.swiftType(method.method.output)
        let type = try client.swiftType(method.method.input)
        let given = properties.filter { !["cursor", "page"].contains($0.field.name) }
        let parameters = (given.map(\.parameter) + ["\(extras.options): CallOptions = .standard"]).joined(separator: ", ")
        let base = method.name.replacing("`", with: "")
        let arguments = given.map { "\($0.name): \($0.name)" }.joined(separator: ", ")
        source.line()
        source.line("/// The pages of ``\(method.name)``, each asked for when the one before has been read.")
        source.block("public func \(base)Pages(\(parameters)) -> Pages<\(reply)>") { source in
            source.line("Pages { [client] cursor in")
            source.line("    var request = \(type)(\(arguments))")
            source.line("    request.cursor = cursor")
            source.line("    let reply = try await client.call(\(endpoint), request, options: \(extras.options).forRead)")
            source.line("    return (reply, reply.meta?.nextCursor)")
            source.line("}")
        }
        let lists = try client.properties(output).filter { $0.field.isRepeated && client.schema.mapEntry($0.field) == nil }
        guard lists.count == 1, let list = lists.first else { return }
        source.line()
        source.line("/// The entries of all pages of ``\(method.name)``.")
        source.block("public func \(base)All(\(parameters)) -> PageEntries<\(reply), \(list.type.dropFirst().dropLast())>") {
            source in
            let call = (given.map { "\($0.name): \($0.name)" } + ["\(extras.options): \(extras.options)"]).joined(separator: ", ")
            source.line("PageEntries(\(base)Pages(\(call))) { $0.\(list.name) }")
        }
    }
}
