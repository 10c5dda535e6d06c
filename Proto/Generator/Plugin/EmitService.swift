// For each service: the protocol to implement, the method table, the registration and the typed client.
extension ModuleEmitter {
    func service(_ service: ProtoService, _ file: ProtoFile) throws -> String {
        let types = service.methods.flatMap { [$0.input, $0.output] }
        var source = SourceText(
            origin: file.name,
            imports: ["public import Bus"] + imports(c: false, for: types, wire: false)
        )
        source.line()
        source.doc(service.comment)
        try source.block("public protocol \(service.name)ServiceProtocol: Sendable") { source in
            for method in service.methods {
                source.doc(method.comment)
                source.line(try signature(method))
            }
        }
        source.line()
        try methodTable(service, &source)
        source.line()
        try client(service, &source)
        source.line()
        source.block("extension \(service.name)ServiceProtocol") { source in
            source.line("/// One endpoint per method, for the bus to serve.")
            source.block("public func endpoints() -> [Bus.Endpoint]") { source in
                source.line("[")
                for method in service.methods {
                    let name = SwiftName.method(method.name)
                    let handler = "{ try await self.\(name)($0, context: $1) }"
                    source.line("    Bus.Endpoint(\(service.name)Methods.\(name)) \(handler),")
                }
                source.line("]")
            }
        }
        return source.text
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
            source.line()
            source.line("/// A serialized google.protobuf.FileDescriptorSet of the package and its imports, with comments (D2).")
            source.line("public static var descriptorSet: [UInt8] { EmbeddedDescriptor.bytes }")
            source.line("/// SHA-256 of `descriptorSet`, lower-case hex.")
            source.line("public static var descriptorHash: String { EmbeddedDescriptor.hash }")
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
