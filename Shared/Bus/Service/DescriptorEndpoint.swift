extension Endpoint {
    /// Where the descriptor with this hash is requested (D2): `rpc.auth.v1.Descriptor.<sha256>`. Only replicas that were built with it
    /// subscribe there, so that a caller never gets that of another version.
    ///
    /// - Parameters:
    ///   - service: The service: `auth`.
    ///   - hash: SHA-256 of the descriptor, 64 lower-case hexadecimal digits.
    public static func descriptorSubject(service: String, sha256 hash: String) -> String {
        "rpc.\(service).v1.Descriptor.\(hash)"
    }

    /// The endpoint of a replica's own descriptor.
    ///
    /// - Parameters:
    ///   - service: The service: `auth`.
    ///   - hash: SHA-256 of the descriptor, 64 lower-case hexadecimal digits.
    ///   - reply: A serialized `streaksnap.common.v1.DescriptorReply`.
    public static func descriptor(service: String, sha256 hash: String, reply: [UInt8]) -> Endpoint {
        Endpoint(
            service: service,
            version: "v1",
            name: "Descriptor",
            subject: descriptorSubject(service: service, sha256: hash),
            metadata: ["idempotent": "true"]
        ) { _, _ in reply }
    }
}
