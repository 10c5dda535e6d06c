internal import Kernel
internal import StreaksAPI
internal import StreaksCore

/// What only types of ids are made of.
enum SyncTag {
    /// A change that a device made.
    enum Change {}
    /// An installation of the app.
    enum Device {}
    /// What a change is about.
    enum Entity {}
}

/// The id of a change, among those of its user's devices.
typealias ChangeID = ID<SyncTag.Change>
/// The id of a device, among those of its user.
typealias DeviceID = ID<SyncTag.Device>
/// The id of a completion or category that was merged.
typealias MergedID = ID<SyncTag.Entity>

/// The numbers of the protocol.
enum SyncProtocol {
    /// The version that this server speaks.
    static let version: Int32 = 1
    /// How long deletions and answers are remembered. What is older than this by a cursor begins anew.
    static let remembered = Interval.days(400)
    /// Devices of a user that are known at a time.
    static let mostDevices = 50
    /// How far a device's clock may run ahead.
    static let clockTolerance = Interval.minutes(5)
    /// Bytes of entries on a page, about: a reply stays far below what the bus carries.
    static let mostPageBytes = 400_000
}

/// What became of a change.
struct SyncAnswer: Sendable {
    /// The raw value is the one of the proto and in SQL.
    enum Outcome: Int32, Sendable {
        case applied = 1
        case merged = 2
        case refused = 3
    }

    var outcome: Outcome
    var mergedInto: MergedID?
    var code: String?
    var message: String?
    var field: String?
    /// Of a merged one: what it is, and the id that it came with.
    var entity: HabitEntity?
    var entityID: MergedID?

    static let applied = SyncAnswer(outcome: .applied)

    static func merged(_ entity: HabitEntity, _ id: MergedID, into other: MergedID) -> SyncAnswer {
        SyncAnswer(outcome: .merged, mergedInto: other, entity: entity, entityID: id)
    }

    static func refused(_ error: ServiceError) -> SyncAnswer {
        SyncAnswer(
            outcome: .refused,
            code: error.reason,
            message: ([error.message] + error.details.prefix(5).map { "\($0.field) \($0.message)." }).joined(separator: " "),
            field: error.details.first?.field
        )
    }

    /// Whether a repeat of the change gets it too. One that had no room is judged anew: something may have been deleted since.
    var isFinal: Bool { code != ServiceError.quotaReason }

    /// As the reply shows it.
    func result(of change: String, isRepeated: Bool) -> SyncResult {
        SyncResult(
            changeID: change,
            outcome: SyncOutcome(rawValue: outcome.rawValue),
            repeated: isRepeated,
            mergedInto: mergedInto?.description,
            code: code,
            message: message,
            field: field
        )
    }
}

extension ServiceError {
    /// What the change is about was deleted, on this or another device.
    static let gone = ServiceError(.failedPrecondition, "GONE", "This was deleted.")

    static func unknownSchema(_ version: Int32) -> ServiceError {
        ServiceError(
            .failedPrecondition,
            "SYNC_SCHEMA_UNSUPPORTED",
            "This server speaks version \(SyncProtocol.version) of the sync protocol.",
            details: [Detail(field: "schema_version", message: "\(version) is not known")]
        )
    }

    static func resyncRequired(_ epoch: Int32, now: Int) -> ServiceError {
        ServiceError(
            .failedPrecondition,
            "RESYNC_REQUIRED",
            "A restore or clearing has replaced everything: pull from the start, then send what is unsent again.",
            details: [Detail(field: "epoch", message: "is \(epoch), and \(now) now")]
        )
    }
}
