internal import Bus
internal import Kernel
internal import Logging
internal import Runtime

extension SealCheck {
    /// What a replica checks principals with (D23); nil without a key: then it believes any, which is said in its log and shows in its metrics.
    ///
    /// - Throws: `Settings.Invalid` for a key that is none.
    static func of(_ service: String, _ settings: Settings, _ metrics: Metrics, _ logger: Logger) throws -> SealCheck? {
        let setting = ServiceSettings.sealKey
        let keys = try settings.find(setting)
        let help = "1 when principals must be sealed by a gateway, 0 when any is believed."
        metrics.gauge("streaksnap_principals_checked", help: help).set(keys == nil ? 0 : 1)
        guard let keys else {
            logger.warning(
                "principals are believed without a seal: \(setting.argument) is not set",
                metadata: ["service": "\(service)"]
            )
            return nil
        }
        do { return try SealCheck(service: service, keys: keys, mayPassOn: ServiceCalls.mayPassOn) } catch {
            throw setting.invalid(error.message)
        }
    }
}
