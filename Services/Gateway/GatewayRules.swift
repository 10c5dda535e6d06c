internal import Kernel
internal import Runtime
internal import Transcoding

/// What descriptors may not decide, and what an operator allows them all the same.
enum GatewayRules {
    /// - Throws: `Settings.Invalid` for a webhook that is no service and path.
    static func routes(_ settings: Settings) throws -> RouteRules {
        let setting = GatewaySettings.webhookAuthorization
        let webhooks = try settings.get(setting).settingEntries.map { entry in
            let parts = entry.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, ServiceName.isValid(String(parts[0])), parts[1].hasPrefix("/") else {
                throw setting.invalid("must be service:path pairs, not “\(entry)”.")
            }
            return RouteRules.Place(service: String(parts[0]), template: String(parts[1]))
        }
        let keys = RouteRules.Place(service: try settings.get(GatewaySettings.tokenService), template: KeyRefresher.path)
        return try RouteRules(own: OwnRoutes.templates, reserved: [keys], webhooks: webhooks)
    }
}
