public import ServiceRuntime
internal import SocialAPI
internal import SocialCircles
internal import SocialCore
internal import SocialFriends
internal import SocialSafety

/// What `social` consists of.
public enum SocialModule: ServiceModule {
    public static let name = "social"
    public static let about = "friends, search, nudges, blocks, reports, moderation and circles"
    public static var descriptor: (bytes: [UInt8], hash: String) { (SocialDescriptor.bytes, SocialDescriptor.hash) }
    public static let features = [
        CoreFeature.feature(followers), FriendsFeature.feature(followers), SafetyFeature.feature(followers),
        CirclesFeature.feature(followers),
    ]

    /// What the features add to a change of a profile.
    static let followers: [any ProfileFollower] = [SearchFollower()]
}
