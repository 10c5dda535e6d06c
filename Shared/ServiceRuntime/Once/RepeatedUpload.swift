public import CommonAPI
public import Wire

extension Message {
    /// The request as a repeat of it equals it: the gateway stores the same bytes again, under another key of the blob store.
    ///
    /// Requests with an upload are compared in this form (`Mutations.once`, `Mutations.known`): their bytes by size and SHA-256.
    ///
    /// - Parameter uploads: the fields that the gateway fills with a stored file (D4).
    public func withoutKeys(of uploads: WritableKeyPath<Self, CommonAPI.Blob?>...) -> Self {
        var same = self
        for upload in uploads { same[keyPath: upload]?.key = "" }
        return same
    }
}
