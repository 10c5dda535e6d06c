internal import BlobStore
internal import Kernel
internal import MediaDomain
internal import OutgoingHTTP
internal import Runtime
internal import ServiceRuntime

/// Settings of the moderator of pictures (PL-5).
enum ScreeningSettings {
    static let url = Setting(
        "media.moderation-url",
        default: "",
        help:
            "Moderator of pictures, https://rekognition.eu-central-1.amazonaws.com or what answers like it; empty: none, and posts are not screened."
    )
    static let region = Setting(
        "media.moderation-region",
        default: "us-east-1",
        help: "Region that requests to the moderator are signed for."
    )
    static let keyID = Setting(
        "media.moderation-key-id",
        default: "",
        isSecret: true,
        help: "Id of the access key, which must be allowed to rekognition:DetectModerationLabels."
    )
    static let secret = Setting("media.moderation-secret", default: "", isSecret: true, help: "Secret of the access key.")
    static let categories = Setting(
        "media.moderation-categories",
        default: ScreeningRule.standardCategories.joined(separator: ", "),
        help: "Labels of pictures that are refused, with all that is below them, separated by commas."
    )
    static let confidence = Setting(
        "media.moderation-confidence",
        default: ScreeningRule.standardConfidence,
        help: "Percent, above 50 to 100: from this confidence on a picture is refused; from 50 on it is published for review."
    )
    static let all: [any AnySetting] = [url, region, keyID, secret, categories, confidence]

    /// The rule that the operator has set.
    ///
    /// - Throws: `Settings.Invalid`.
    static func rule(_ settings: Settings) throws -> ScreeningRule {
        let least = try settings.get(confidence)
        guard least > ScreeningRule.leastConfidence, least <= 100 else { throw confidence.invalid("must be above 50, to 100.") }
        let names = try settings.get(categories).settingEntries.map { $0.split(separator: " ").joined(separator: " ") }
        guard !names.isEmpty else { throw categories.invalid("must name a label.") }
        return ScreeningRule(categories: names, confidence: least)
    }

    /// The moderator that the operator has set; nil for none.
    ///
    /// - Throws: `Settings.Invalid`.
    static func moderator(_ environment: ServiceEnvironment) throws -> PictureModerator? {
        let settings = environment.settings
        let text = try settings.get(url)
        if text.isEmpty { return nil }
        guard let address = ModeratorAddress(text) else {
            throw url.invalid("must be https://HOST[:PORT], or http in a private network.")
        }
        return PictureModerator(
            address: address,
            signer: SigV4(
                credentials: SigV4.Credentials(keyID: try key(keyID, settings), secret: try key(secret, settings)),
                region: try settings.get(region),
                service: "rekognition"
            ),
            http: OutgoingHTTP(threads: 4, queueLimit: 64, keepsConnections: true, allowsPlain: true),
            logger: environment.logger
        )
    }

    /// The value is not shown.
    private static func key(_ setting: Setting<String>, _ settings: Settings) throws -> String {
        let value = try settings.get(setting)
        guard !value.isEmpty, value.utf8.allSatisfy({ (33...126).contains($0) }) else {
            throw setting.invalid("must be letters, digits and signs without spaces.")
        }
        return value
    }
}

/// Where the moderator is: `https://rekognition.eu-central-1.amazonaws.com`.
struct ModeratorAddress: Sendable, Equatable {
    let scheme: String
    /// With the port, unless it is the scheme's own.
    let host: String
    let path = "/"

    /// - Returns: nil when the text is no address of a server, or has a path.
    init?(_ text: String) {
        let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, ["http", "https"].contains(parts[0]) else { return nil }
        let rest = parts[1].hasSuffix("/") ? parts[1].dropLast() : parts[1]
        let isPlain = rest.utf8.allSatisfy { byte in
            (97...122).contains(byte) || (65...90).contains(byte) || (48...57).contains(byte)
                || [45, 46, 58, 91, 93].contains(byte)
        }
        guard isPlain, !rest.isEmpty else { return nil }
        let own = parts[0] == "https" ? ":443" : ":80"
        (scheme, host) = (String(parts[0]), String(rest.hasSuffix(own) ? rest.dropLast(own.count) : rest))
    }
}
