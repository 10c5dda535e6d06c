internal import HTTPTypes
internal import Hummingbird
internal import Kernel

extension Exchange {
    /// 405 with the methods that the path takes (RFC 9110 §15.5.6).
    func methodNotAllowed(_ allow: [String]) -> Response {
        let list = allow.joined(separator: ", ")
        var response = failure(ServiceError(.unimplemented, "METHOD_NOT_ALLOWED", "This path takes \(list)."))
        response.headers[.allow] = list
        return response
    }
}
