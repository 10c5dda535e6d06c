// Per service: the method table, the typed client, and what makes its endpoints of one handler a method.
extension ModuleEmitter {
    func service(_ service: ProtoService, _ file: ProtoFile) throws -> String {
        let types = service.methods.flatMap { [$0.input, $0.output] }
        var source = SourceText(
            origin: file.name,
            imports: ["public import Bus"] + imports(for: types, wire: false)
        )
        source.line()
        try endpoints(service, &source)
        source.line()
        try methodTable(service, &source)
        source.line()
        try client(service, &source)
        return source.text
    }

    /// One parameter a method: none can be left out, and one that changes something takes a handler that says what makes it once.
    private func endpoints(_ service: ProtoService, _ source: inout SourceText) throws {
        source.doc(service.comment)
        try source.block("public enum \(service.name)Service") { source in
            source.line("/// One endpoint a method, for the bus to serve.")
            if !service.methods.isEmpty {
                source.line("///")
                source.line("/// - Parameters:")
            }
            for method in service.methods {
                let lines = method.comment.split(separator: "\n").map { $0.drop { $0 == " " } }
                source.line("///   - \(SwiftName.method(method.name)): \(lines.first ?? "answers \(method.name).")")
                for line in lines.dropFirst() { source.line("///     \(line)") }
            }
            source.line("public static func endpoints(")
            for (index, method) in service.methods.enumerated() {
                let kind = method.policy.isMutation ? "MutationHandler" : "QueryHandler"
                let types = "<\(try swiftType(method.input)), \(try swiftType(method.output))>"
                let comma = index + 1 < service.methods.count ? "," : ""
                source.line("    \(SwiftName.method(method.name)): some Bus.\(kind)\(types)\(comma)")
            }
            source.block(") -> [Bus.Endpoint]") { source in
                source.line("[")
                for method in service.methods {
                    let name = SwiftName.method(method.name)
                    source.line("    Bus.Endpoint(\(service.name)Methods.\(name), \(name)),")
                }
                source.line("]")
            }
        }
    }

    private func signature(_ method: ProtoService.Method) throws -> String {
        "func \(SwiftName.method(method.name))(_ request: \(try swiftType(method.input)), context: Bus.CallContext) async throws"
            + " -> \(try swiftType(method.output))"
    }

    private func methodTable(_ service: ProtoService, _ source: inout SourceText) throws {
        let parts = package.split(separator: ".").suffix(2).map(String.init)
        source.line("/// The methods of `\(service.name)` on the bus.")
        try source.block("public enum \(service.name)Methods") { source in
            for method in service.methods {
                source.doc(method.comment)
                let type = "Bus.Method<\(try swiftType(method.input)), \(try swiftType(method.output))>"
                let timeout = method.policy.timeout
                let budget = timeout % 1_000 == 0 ? ".seconds(\(timeout / 1_000))" : ".milliseconds(\(timeout))"
                source.line("public static let \(SwiftName.method(method.name)) = \(type)(")
                source.line(
                    "    service: \"\(parts[0])\", version: \"\(parts[1])\", name: \"\(method.name)\", "
                        + "isIdempotent: \(method.policy.isIdempotent), timeout: \(budget))"
                )
            }
        }
    }

    private func client(_ service: ProtoService, _ source: inout SourceText) throws {
        source.line("/// Calls `\(service.name)` over the bus.")
        try source.block("public struct \(service.name)Client: Sendable") { source in
            source.line("private let caller: any Bus.Caller")
            source.line()
            source.line("/// A client that calls through `caller`.")
            source.line("public init(_ caller: any Bus.Caller) { self.caller = caller }")
            for method in service.methods {
                source.line()
                source.doc(method.comment)
                let head = try signature(method)
                source.block("public \(head)") { source in
                    let name = SwiftName.method(method.name)
                    source.line("try await caller.call(\(service.name)Methods.\(name), request, context: context)")
                }
            }
        }
    }
}
