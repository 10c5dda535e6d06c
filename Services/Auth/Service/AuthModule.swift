internal import AuthAPI
internal import AuthAccounts
internal import AuthCore
internal import AuthLinks
internal import AuthOperations
internal import AuthProfiles
public import Runtime
public import ServiceRuntime

/// What `auth` consists of.
public enum AuthModule: ServiceModule {
    public static let name = "auth"
    public static let about = "accounts, sessions, e-mail and profiles"
    public static var descriptor: (bytes: [UInt8], hash: String) { (AuthDescriptor.bytes, AuthDescriptor.hash) }
    public static let features = [
        // In a closure: the declarations are read from these features.
        CoreFeature.feature, AccountsFeature.feature { personalData }, ProfilesFeature.feature, LinksFeature.feature,
        OperationsFeature.feature,
    ]
    public static var commands: [ProgramCommand] { AuthCommands.all }
}
