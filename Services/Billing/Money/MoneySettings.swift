internal import Runtime

/// What an operator sets for billing.
enum MoneySettings {
    static let webhookSecret = Setting(
        "billing.webhook-secret",
        default: SecretList.empty,
        isSecret: true,
        help: """
            Values of RevenueCat's Authorization header that are accepted, each of at least \(SecretList.shortest) characters, separated by \
            commas; empty refuses every webhook.
            """
    )
    static let signingSecret = Setting(
        "billing.webhook-signing-secret",
        default: "",
        isSecret: true,
        help: "Key of the HMAC in X-RevenueCat-Webhook-Signature; empty asks for no signature."
    )
    static let sandbox = Setting(
        "billing.accept-sandbox",
        default: SandboxRule.none,
        help: "Whether purchases in the stores' sandboxes count: true, false, or ids of accounts separated by commas."
    )
    static let premium = Setting(
        "billing.premium-entitlement",
        default: PremiumEntitlement.premium,
        help: "The entitlement of RevenueCat that means premium; what is bought without it gives no premium."
    )
    static let url = Setting(
        "billing.revenuecat-url",
        default: "https://api.revenuecat.com",
        help: "Address of RevenueCat's REST API; https, or http on this machine."
    )
    static let key = Setting(
        "billing.revenuecat-key",
        default: "",
        isSecret: true,
        help: "Secret key of RevenueCat's REST API; empty asks it nothing."
    )

    static let all: [any AnySetting] = [webhookSecret, signingSecret, sandbox, premium, url, key]
}
