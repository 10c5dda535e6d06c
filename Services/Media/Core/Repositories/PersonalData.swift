internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// Whose photos are withheld, and who is hidden from whom. The jobs delete the blobs of purged users.
    static let core = PersonalData([
        PersonalTable(
            "photo_owner",
            users: ["user_id": .keep("the photos stay withheld, also from an older event")],
            growth: .perUser
        ),
        PersonalTable("closed_picture", users: ["user_id": .delete], growth: .bounded("two for each deleted snap")),
        PersonalTable(
            "hidden_pair",
            users: ["one": .erased(by: "the job `hidden_pairs`"), "other": .erased(by: "the job `hidden_pairs`")],
            growth: .bounded("one for each block")
        ),
        PersonalTable("stale_avatar", users: ["user_id": .delete], growth: .perUser),
    ]) { _ in
        ErasureSteps(before: { user, work in
            try await OwnerRepository.purge(user, work.sql)
            // Before the blocks are deleted: whom the job must show again follows from them.
            try await HiddenPairRepository.noteAll(of: user, work.sql)
        })
    }
}
