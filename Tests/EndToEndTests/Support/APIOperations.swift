import Foundation

/// One operation of the description of the API.
struct APIOperation: Sendable, CustomStringConvertible {
    let verb: String
    /// As in the description: `/api/users/{user_id}`.
    let path: String
    /// The whole operation object.
    let json: JSON

    /// Who may call it.
    var auth: String { json["x-auth"].string ?? "" }
    /// The names of the parameters of its path.
    var parameters: [String] {
        json["parameters"].list.filter { $0["in"].string == "path" }.compactMap { $0["name"].string }
    }
    /// The schema of its body; null without one, and for an upload.
    var body: JSON { json["requestBody"]["content"]["application/json"]["schema"] }
    var isUpload: Bool { !json["requestBody"]["content"]["multipart/form-data"].isNull }
    /// Whether its reply does not end.
    var isStream: Bool { !json["responses"]["200"]["content"]["text/event-stream"].isNull }
    var description: String { "\(verb) \(path)" }

    /// Those of a description. The routes of a service that another test brings along come and go: they are left out.
    static func all(in page: JSON) -> [APIOperation] {
        page["paths"].names.sorted().filter { !$0.hasPrefix("/api/testing/") }.flatMap { path in
            page["paths"][path].names.sorted().map { verb in
                APIOperation(verb: verb.uppercased(), path: path, json: page["paths"][path][verb])
            }
        }
    }
}
