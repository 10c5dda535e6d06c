internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// Whose photos are withheld, and who is hidden from whom. The jobs delete the blobs of purged users.
    static let core = PersonalData([
        PersonalTable("photo_owner", users: ["user_id": .keep("the photos stay withheld, also from an older event")]),
        PersonalTable(
            "hidden_pair",
            users: ["one": .erased(by: "the job `hidden_pairs`"), "other": .erased(by: "the job `hidden_pairs`")]
        ),
    ]) { _ in
        ErasureSteps(before: { user, work in
            try await OwnerRepository.purge(user, work.sql)
            // Before the blocks are deleted: whom the job must show again follows from them.
            try await HiddenPairRepository.noteAll(of: user, work.sql)
        })
    }
}
