package import ServiceRuntime
internal import StreaksAPI

/// Outages that administrators declare (SD-7). Their table and what follows from them are the core's: every ledger is folded with them.
package enum OutagesFeature {
    package static let feature = ServiceFeature("outages") { environment in
        FeatureParts(
            endpoints: OutagesService.endpoints(
                listOutages: ListOutages(database: environment.database),
                declareOutage: DeclareOutage(mutations: environment.mutations)
            )
        )
    }
}
