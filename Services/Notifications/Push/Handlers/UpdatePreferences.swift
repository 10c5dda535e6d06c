internal import Bus
internal import Kernel
internal import NotificationsAPI
internal import NotificationsCore
internal import NotificationsDomain
internal import ServiceRuntime

/// NO-2: changes what is given. It holds for pushes that are queued already, too. Whether the user wants words of motivation is emitted: who
/// does not want them has none in the log either.
struct UpdatePreferences: MutationHandler {
    let mutations: Mutations

    func handle(_ request: UpdatePreferencesRequest, _ context: CallContext) async throws -> Once<Preferences> {
        let user = try context.requireUser()
        let change = PreferencesRepository.Change(
            switches: request.switches,
            hasQuietHours: request.quietHours,
            quietStart: request.quietStartHour,
            quietEnd: request.quietEndHour
        )
        return try await mutations.once(context, request) { work in
            let before = try await PreferencesRepository.lock(user, work.sql)
            let stored = try await PreferencesRepository.update(user, change, work.sql)
            // As they are after it: one of the two may have been set before.
            try Self.checkHours(from: stored.quietStart, to: stored.quietEnd)
            let isOn = stored.preferences.isOn(.motivation)
            if isOn != before.preferences.isOn(.motivation) {
                try await work.emit(MotivationSwitched(userID: user, isOn: isOn, at: work.now))
            }
            return Preferences(stored)
        }
    }

    func problems(of request: UpdatePreferencesRequest) -> [ServiceError.Detail] {
        guard let from = request.quietStartHour, let to = request.quietEndHour else { return [] }
        return FieldCheck.problems { try Self.checkHours(from: from, to: to) }
    }

    /// - Throws: `VALIDATION_ERROR` for hours between which nothing lies. What is no hour is for the rules of the fields.
    private static func checkHours(from: Int32, to: Int32) throws(ServiceError) {
        guard from != to else { throw .validation(field: "quiet_end_hour", "must differ from quiet_start_hour") }
    }
}
