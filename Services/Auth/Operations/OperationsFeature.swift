internal import AuthAPI
internal import AuthCore
internal import Kernel
package import ServiceRuntime

/// How the services fare, for administrators: replicas, backlogs, parked events. It asks every service over the bus and has no table; what
/// is done is in the audit log.
package enum OperationsFeature {
    package static let feature = ServiceFeature("operations") { environment in
        let roster = ServiceRoster(bus: environment.bus)
        return FeatureParts(
            endpoints: OperationsService.endpoints(
                listReplicas: ListReplicas(roster: roster),
                listBacklogs: ListBacklogs(roster: roster, bus: environment.bus),
                listParkedEvents: ListParkedEvents(roster: roster, bus: environment.bus),
                redriveEvents: RedriveEvents(roster: roster, bus: environment.bus, mutations: environment.mutations)
            )
        )
    }
}
