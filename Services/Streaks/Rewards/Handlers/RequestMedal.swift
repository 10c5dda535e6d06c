internal import Bus
internal import Kernel
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore

/// Asks for the medal of a year, or corrects its address while it has not been sent (CI-5).
struct RequestMedal: MutationHandler {
    let mutations: Mutations

    func handle(_ request: RequestMedalRequest, _ context: CallContext) async throws -> Once<Medal> {
        let user = try context.requireUser()
        let country = try Self.country(request)
        let address = MedalAddress(
            name: request.name,
            line1: request.line1,
            line2: request.line2,
            city: request.city,
            region: request.region,
            postalCode: request.postalCode,
            country: country
        )
        return try await mutations.once(context, request) { work in
            guard try await RewardRepository.unlocks(of: user, work.sql)[.medal] != nil else {
                throw ServiceError.unlockNotEarned
            }
            // Two requests at once are one medal.
            try await work.sql.lock(named: "medal \(user)")
            var medal =
                try await MedalRepository.lock(of: user, work.sql)
                ?? StoredMedal(id: work.ids.make(), user: user, status: .requested, address: address, requestedAt: work.now)
            guard medal.status != .sent else { throw ServiceError.medalAlreadySent }
            // After a refusal it is a new request; a correction keeps its place in the list.
            if medal.status == .declined { medal.requestedAt = work.now }
            (medal.status, medal.address, medal.decidedAt, medal.decidedBy, medal.note) = (.requested, address, nil, nil, nil)
            try await MedalRepository.store(medal, work.sql)
            return Medal(medal)
        }
    }

    func problems(of request: RequestMedalRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try Self.country(request) }
    }

    private static func country(_ request: RequestMedalRequest) throws(ServiceError) -> String {
        let country = request.country.uppercased()
        guard country.utf8.allSatisfy({ (65...90).contains($0) }), country.utf8.count == 2 else {
            throw .validation(field: "country", "must be two letters, as in ISO 3166-1: GB")
        }
        return country
    }
}
