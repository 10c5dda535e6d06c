internal import Kernel

/// What Expo's service says of one push: the ticket of a hand-over, or the receipt of a delivery.
struct ExpoTicket: Decodable, Hashable, Sendable {
    let status: String
    /// The name of the receipt; only of a ticket that is `ok`.
    let id: String?
    let message: String?
    let details: Details?

    struct Details: Decodable, Hashable, Sendable {
        let error: String?
    }

    var isOK: Bool { status == "ok" }
    /// The documented word for what is wrong; `Unknown` when there is none.
    var error: String { details?.error ?? "Unknown" }
}

/// What is wrong with a whole request.
struct ExpoError: Decodable, Hashable, Sendable {
    let code: String?
    let message: String?
    /// Of `PUSH_TOO_MANY_EXPERIENCE_IDS`: the tokens of each project.
    let projects: [String: [String]]?

    private enum CodingKeys: String, CodingKey {
        case code
        case message
        case details
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        code = try? values.decode(String.self, forKey: .code)
        message = try? values.decode(String.self, forKey: .message)
        // Other errors have details of other forms.
        projects = try? values.decode([String: [String]].self, forKey: .details)
    }

    static let manyProjects = "PUSH_TOO_MANY_EXPERIENCE_IDS"
}

/// The body of a reply that took the request.
struct ExpoReply<Content: Decodable & Sendable>: Decodable, Sendable {
    let data: Content
}

/// The body of a reply that did not.
struct ExpoRefusal: Decodable, Sendable {
    let errors: [ExpoError]
}

/// What became of a request to the push service.
enum ExpoAnswer<Content: Sendable>: Sendable {
    case answered(Content)
    /// It refuses the request for what is in it: as documented, nothing of it was taken.
    case refused(status: Int, errors: [ExpoError])
    /// It takes nothing now (429, 5xx, not authorised, no connection): nothing of the request was taken.
    case away(asked: Interval?)
    /// No answer, or one that cannot be read: it may have taken the request.
    case silent
}
