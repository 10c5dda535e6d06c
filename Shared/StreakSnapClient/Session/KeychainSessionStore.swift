#if canImport(Security)
    public import Foundation
    import Security

    /// Keeps the session in the keychain, readable after the first unlock and on this device only. An access group shares it with extensions.
    public actor KeychainSessionStore: SessionStore {
        private let service: String
        private let account: String
        private let accessGroup: String?

        /// - Parameters:
        ///   - service: names the app.
        ///   - account: which of the sessions of an app.
        ///   - accessGroup: shared with an app's extensions.
        public init(service: String, account: String = "session", accessGroup: String? = nil) {
            (self.service, self.account, self.accessGroup) = (service, account, accessGroup)
        }

        private var query: [CFString: Any] {
            var query: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: account,
            ]
            if let accessGroup { query[kSecAttrAccessGroup] = accessGroup }
            return query
        }

        public func load() throws -> Session? {
            var query = query
            query[kSecReturnData] = true
            query[kSecMatchLimit] = kSecMatchLimitOne
            var found: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &found)
            if status == errSecItemNotFound { return nil }
            guard status == errSecSuccess, let data = found as? Data else { throw failure(status) }
            return try JSONDecoder().decode(Session.self, from: data)
        }

        public func save(_ session: Session?) throws {
            guard let session else {
                let status = SecItemDelete(query as CFDictionary)
                guard status == errSecSuccess || status == errSecItemNotFound else { throw failure(status) }
                return
            }
            let value: [CFString: Any] = [
                kSecValueData: try JSONEncoder().encode(session),
                kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            ]
            var status = SecItemUpdate(query as CFDictionary, value as CFDictionary)
            if status == errSecItemNotFound {
                status = SecItemAdd(query.merging(value) { $1 } as CFDictionary, nil)
            }
            guard status == errSecSuccess else { throw failure(status) }
        }

        private func failure(_ status: OSStatus) -> StreakSnapError {
            StreakSnapError(kind: .file, message: "The keychain answered with status \(status).")
        }
    }
#endif
