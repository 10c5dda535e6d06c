internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksDomain

/// All milestones and how far the caller is (CI-5).
struct GetMilestones: QueryHandler {
    let streaks: CheckInStreaks

    func handle(_: GetMilestonesRequest, _ context: CallContext) async throws -> GetMilestonesReply {
        let user = try context.requireUser()
        let streak = try await streaks.read(user, context)
        let count = streak?.state.count ?? 0
        let reached = try await CheckInRepository.reached(by: user, streaks.writer.store.database)
        let milestones = CelebratedCheckIn.all.map { milestone in
            let date = reached[milestone.days]
            return CheckInMilestone(
                milestoneType: milestone.type,
                daysRequired: Int32(milestone.days),
                title: milestone.title,
                description: milestone.description,
                rewards: CheckInRewards(milestone),
                achieved: date != nil,
                achievedDate: date,
                daysUntil: date == nil ? Int32(max(0, milestone.days - count)) : nil,
                progressPercent: date == nil ? milestone.progress(at: count) : nil
            )
        }
        let days = streak.map { streaks.policy.nextMilestone(of: $0.state) } ?? CelebratedCheckIn.all.first?.days
        let next = days.flatMap(CelebratedCheckIn.of)
        return GetMilestonesReply(
            data: MilestoneList(
                milestones: milestones,
                totalMilestones: Int32(milestones.count),
                achievedMilestones: Int32(reached.count),
                nextMilestone: next.map {
                    UpcomingMilestone(
                        milestoneType: $0.type,
                        daysUntil: Int32($0.days - count),
                        title: $0.title,
                        preview: $0.preview
                    )
                },
                streakID: streak?.row.id
            )
        )
    }
}

extension CheckInRewards {
    /// What a milestone brings.
    init(_ milestone: CelebratedCheckIn) {
        self.init(
            xp: Int32(milestone.xp),
            badges: milestone.badges,
            streakFreezes: Int32(milestone.freezes),
            unlocks: milestone.unlocks,
            coins: Int32(milestone.coins)
        )
    }
}
