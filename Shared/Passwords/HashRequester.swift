public import Kernel
public import WorkPool

/// The client and the purpose of a hash: they decide whose turn it is when hashes have to wait.
public struct HashRequester: Hashable, Sendable {
    /// What the hash is for. Where both wait, sign-ins get four turns to one.
    public enum Purpose: TurnPurpose {
        /// A password is compared: sign-in, or a change that asks for the password again.
        case signIn
        /// A new password is stored: registration, reset, change.
        case newPassword

        /// Turns this gets in a round.
        public var share: Int { self == .signIn ? 4 : 1 }
    }

    /// What the hash is for.
    public var purpose: Purpose
    /// The client's address; IPv6 by its first 64 bits, since one client has as many of them as it likes. All who have none
    /// wait as one; every client that comes through a gateway has one.
    public var network: IPAddress?
    /// When the caller stops waiting, wall-clock time; nil when it does not say.
    public var deadline: Instant?

    /// A requester.
    ///
    /// - Parameter address: where the request came from; nil when unknown.
    public init(_ purpose: Purpose, address: IPAddress?, deadline: Instant? = nil) {
        self.purpose = purpose
        self.network = address?.site
        self.deadline = deadline
    }
}
