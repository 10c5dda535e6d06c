import Kernel

/// What the control API answers when it does not do something.
struct ControlError: Error, Hashable, CustomStringConvertible {
    let status: Int
    let code: String
    let message: String
    /// What of the request is to blame; nil for nothing of it.
    var field: String?

    var description: String { message }

    /// 400: a field is wrong. - Parameter problem: goes on after the field's name.
    static func invalid(_ field: String, _ problem: String) -> ControlError {
        ControlError(status: 400, code: "VALIDATION_ERROR", message: "\(field) \(problem)", field: field)
    }

    /// 404: there is none. - Parameter field: `id`, `name` or `path`.
    static func notFound(_ field: String, _ message: String) -> ControlError {
        ControlError(status: 404, code: "NOT_FOUND", message: message, field: field)
    }

    static let unauthenticated = ControlError(
        status: 401,
        code: "UNAUTHENTICATED",
        message: "Authorization must be “Bearer” and the token that test-environment wrote when it was ready."
    )

    /// 405. - Parameter allowed: the methods that there are.
    static func method(_ allowed: String) -> ControlError {
        ControlError(status: 405, code: "METHOD_NOT_ALLOWED", message: "This path takes \(allowed) only.", field: "method")
    }

    /// 409: not now.
    static func conflict(_ message: String) -> ControlError { ControlError(status: 409, code: "CONFLICT", message: message) }

    /// 503: the world did not do it.
    static func unavailable(_ message: String) -> ControlError {
        ControlError(status: 503, code: "UNAVAILABLE", message: message)
    }

    /// Any error, as far as a test may see it.
    init(_ error: any Error) {
        switch error {
        case let error as ControlError: self = error
        case let error as ServiceError where error.code == .invalidArgument:
            let detail = error.details.first
            self = .invalid(detail?.field ?? "body", detail?.message ?? error.message)
        case let error as ServiceError: self = .unavailable(error.message)
        default: self = .unavailable("\(error)")
        }
    }

    private init(status: Int, code: String, message: String, field: String? = nil) {
        (self.status, self.code, self.message, self.field) = (status, code, message, field)
    }

    var json: JSON {
        var error: [String: JSON] = ["code": .text(code), "message": .text(message)]
        if let field { error["field"] = .text(field) }
        return .object(["error": .object(error)])
    }
}
