internal import Kernel
package import ServiceRuntime
internal import StreaksAPI
package import StreaksCore

/// The streak inspector of administrators: any streak's ledger date by date, with the reason for each verdict. It writes nothing but events
/// for the audit log.
package enum InspectorFeature {
    /// The feature.
    ///
    /// - Parameter extensions: what all features add to the store.
    package static func feature(_ extensions: StreakExtensions) -> ServiceFeature {
        ServiceFeature("inspector") { environment in
            let core = try StreaksCore(environment, extensions)
            return FeatureParts(
                endpoints: InspectorService.endpoints(
                    listUserStreaks: ListUserStreaks(store: core.store, profiles: core.profiles, work: environment.work),
                    inspectStreak: InspectStreak(
                        store: core.store,
                        profiles: core.profiles,
                        work: environment.work,
                        clock: environment.clock
                    )
                )
            )
        }
    }
}
