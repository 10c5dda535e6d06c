import Testing

extension Person {
    /// Creates a circle that others join. - Returns: its id, and the code of its invite.
    func circle(_ name: String = "Runners", with others: [Person] = []) async throws -> (id: String, code: String) {
        let made = try await post("/api/circles", "{\"name\":\(quoted(name))}")
        try #require(made.status == 201, "\(made.text)")
        let id = try #require(made.data["circle_id"].string)
        let code = try #require(made.data["invite"]["code"].string)
        for other in others {
            let joined = try await other.post("/api/circles/join", "{\"code\":\"\(code)\"}")
            try #require(joined.status == 200, "\(joined.text)")
        }
        return (id, code)
    }
}
