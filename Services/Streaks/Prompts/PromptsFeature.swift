internal import Bus
internal import Database
internal import Kernel
package import ServiceRuntime
internal import StreaksAPI
package import StreaksCore

/// The daily prompt, prompts of a streak's own, and the snap window (PW-1, PW-2).
package enum PromptsFeature {
    /// The feature.
    ///
    /// - Parameter extensions: what all features add to the store.
    package static func feature(_ extensions: StreakExtensions) -> ServiceFeature {
        ServiceFeature(
            "prompts",
            migrations: [
                MigrationSet("prompts", [Migration(version: 1, name: "prompts", sql: PackageResources.V0001_prompts_sql)])
            ],
            personalData: [.prompts]
        ) { environment in
            let core = try StreaksCore(environment, extensions)
            let reads = StreakReads(.mutual, store: core.store, avatars: core.avatars)
            let prompts = PromptsOfStreaks(reads: reads, clock: environment.clock)
            return FeatureParts(
                endpoints: PromptsService.endpoints(
                    getTodaysPrompt: GetTodaysPrompt(prompts: prompts, profiles: core.profiles, clock: environment.clock),
                    getStreakPrompts: GetStreakPrompts(prompts: prompts),
                    setStreakPrompts: SetStreakPrompts(reads: reads, mutations: environment.mutations),
                    clearStreakPrompts: ClearStreakPrompts(reads: reads, mutations: environment.mutations)
                )
            )
        }
    }
}
