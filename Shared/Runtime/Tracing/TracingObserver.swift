internal import Bus
internal import Kernel

/// Makes a span of every RPC whose trace is recorded.
struct TracingObserver: RPCObserver {
    let tracer: Tracer
    let kind: Span.Kind

    func ended(_ rpc: ObservedRPC) {
        tracer.record(rpc.span) {
            // rpc.auth.v1.Register
            let words = rpc.method.split(separator: ".").map(String.init)
            let isUsual = words.count == 4 && words[0] == "rpc"
            let (service, method) = isUsual ? ("\(words[1]).\(words[2])", words[3]) : ("", rpc.method)
            var attributes: [(name: String, value: Span.Attribute)] = [
                ("rpc.system", .text("nats")), ("rpc.service", .text(service)), ("rpc.method", .text(method)),
                ("streaksnap.request_id", .text(rpc.requestID)),
            ]
            if let code = rpc.code { attributes.append(("error.type", .text("\(code)"))) }
            return Span(
                rpc.span,
                parent: rpc.parent,
                name: isUsual ? "\(service)/\(method)" : method,
                kind: kind,
                duration: rpc.duration,
                attributes: attributes,
                failure: rpc.code.flatMap { isFailure($0) ? "\($0)" : nil }
            )
        }
    }

    /// To a client every error is one; to a server a refusal is an answer like any other (OpenTelemetry's rule for gRPC).
    private func isFailure(_ code: ServiceError.Code) -> Bool {
        switch code {
        case .unknown, .deadlineExceeded, .unimplemented, .internal, .unavailable, .dataLoss: true
        default: kind == .client
        }
    }
}
