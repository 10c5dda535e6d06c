internal import Kernel
internal import StreaksAPI
internal import StreaksDomain

/// What a user reported for a date by one call; nil: nothing of this.
struct TrackingReport: Sendable {
    var mood: Int32?
    var energy: Int32?
    var weight: Double?
    var steps: Int32?
    var notes: String?
    var yesterdayFeeling: String?
    /// When it was done, by the client's clock (SD-2).
    var capturedAt: Instant?
    /// What it is by itself, whatever it says: the whole flow, or a check-in in a circle.
    var kind: TrackedActivity?

    /// The activities that count (CI-1), each once.
    func activities(stepsGoal: Int32?) -> [TrackedActivity] {
        [kind].compactMap { $0 }
            + TrackedActivity.all(mood: mood, energy: energy, weight: weight, steps: steps, stepsGoal: stepsGoal)
    }

    /// Nothing at all.
    var isEmpty: Bool {
        mood == nil && energy == nil && weight == nil && steps == nil && notes == nil && kind == nil
    }
}

extension TrackingReport {
    init(_ request: CheckInRequest) {
        self.init(
            mood: request.moodScore,
            energy: request.energyLevel,
            weight: request.weightKg,
            steps: request.steps,
            notes: request.notes,
            yesterdayFeeling: request.yesterdayFeeling,
            capturedAt: request.checkInTime,
            kind: .dailyCheckIn
        )
    }

    init(_ request: LogTrackingRequest) {
        self.init(
            mood: request.moodScore,
            energy: request.energyLevel,
            weight: request.weightKg,
            steps: request.steps,
            notes: request.notes,
            capturedAt: request.loggedAt
        )
    }
}
