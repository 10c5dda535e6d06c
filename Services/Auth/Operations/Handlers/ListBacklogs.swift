internal import AuthAPI
internal import Bus
internal import CommonAPI
internal import Kernel
internal import ServiceRuntime

/// What waits at every service. Each replica is asked, since it may run some of the features only.
struct ListBacklogs: QueryHandler {
    /// How long a replica has to answer.
    private static let timeout = Interval.seconds(1)
    /// Most replicas of one service that are asked.
    private static let most = 50

    let roster: ServiceRoster
    let bus: BusConnection

    /// No tuple: Swift 6.3.1 with `-O` loses those in a task group.
    private struct Answer: Sendable {
        let service: String
        let reply: BacklogReply?
    }

    func handle(_: ListBacklogsRequest, _ context: CallContext) async throws -> ListBacklogsReply {
        _ = try context.requireAdmin()
        let services = try await roster.replicas()
        let answers = await withTaskGroup(of: Answer.self) { tasks in
            for (service, replicas) in services {
                for subject in Self.subjects(service, replicas) {
                    tasks.addTask { Answer(service: service, reply: await ask(subject)) }
                }
            }
            var answers: [String: [BacklogReply]] = [:]
            for await answer in tasks { answers[answer.service, default: []] += [answer.reply].compactMap { $0 } }
            return answers
        }
        try Task.checkCancellation()
        return ListBacklogsReply(
            services: services.keys.sorted().map { ServiceBacklog($0, merging: answers[$0] ?? []) }
        )
    }

    /// That of each replica; that of the service for replicas that cannot be asked alone.
    private static func subjects(_ service: String, _ replicas: [ServiceStatistics]) -> Set<String> {
        let subject = OperationMethods.backlog(of: service).subject
        return Set(replicas.prefix(most).map { $0.takesOwnRequests ? "inst.\(service).\($0.id).\(subject)" : subject })
    }

    /// - Returns: nil without an answer that can be read.
    private func ask(_ subject: String) async -> BacklogReply? {
        let deadline = SystemClock.now() + Self.timeout
        guard let reply = try? await bus.request(subject, body: [], deadline: deadline), reply.headers.isEmpty else { return nil }
        return try? BacklogReply(serialized: reply.body)
    }
}

extension ServiceBacklog {
    /// What the replicas of a service say together. They read the same outbox, one a moment after the other; how far a feature has come is known
    /// best by the replica that says least is left.
    init(_ service: String, merging replies: [BacklogReply]) {
        var features: [String: FeatureBacklog] = [:]
        var jobs: [String: JobStanding] = [:]
        for reply in replies {
            for feature in reply.features {
                let known = features[feature.feature]
                features[feature.feature] = feature
                features[feature.feature]?.pending = [known?.pending, feature.pending].compactMap { $0 }.min()
            }
            for job in reply.jobs { jobs[job.job] = jobs[job.job].map { Self.together($0, job) } ?? job }
        }
        let newest = replies.last
        self.init(
            service: service,
            answers: newest != nil,
            unpublished: newest?.unpublished ?? 0,
            unpublishedSince: newest?.unpublishedSince,
            features: features.values.sorted { $0.feature < $1.feature },
            jobs: jobs.values.sorted { $0.job < $1.job }
        )
    }

    /// The rows are the same; which run was the last one, each replica knows of its own only.
    private static func together(_ one: JobStanding, _ other: JobStanding) -> JobStanding {
        let failed = (one.lastFailureAt ?? .epoch) >= (other.lastFailureAt ?? .epoch) ? one : other
        return JobStanding(
            job: one.job,
            dueSince: other.dueSince ?? one.dueSince,
            lastSuccessAt: [one.lastSuccessAt, other.lastSuccessAt].compactMap { $0 }.max(),
            lastFailureAt: failed.lastFailureAt,
            lastError: failed.lastError
        )
    }
}
