package import Kernel
package import Outbox
internal import StreaksAPI

/// Photos of habits' dates: media has them, and completions name them.
extension HabitStore {
    /// Takes up what media says of a date's photo, unless something newer is known.
    ///
    /// A photo of a date without a completion is not wanted: it was deleted while the photo was on its way.
    ///
    /// - Parameter photo: nil: the date has none any more.
    package func setPhoto(
        _ photo: HabitPhotoID?,
        version: Int64,
        of habit: HabitID,
        on date: CalendarDate,
        by user: UserID,
        _ work: UnitOfWork
    ) async throws {
        guard let sequence = try await HabitAccountRepository.nextSequence(of: user, work.sql) else {
            // The account is purged, or everything of it is on the way.
            return try await work.dropPhotos(photo.map { [$0] } ?? [], of: user)
        }
        let stamp = HabitStamp(user: user, sequence: sequence, now: work.now)
        guard try await HabitPhotoRepository.store(photo, version: version, of: habit, on: date, stamp, work.sql) else { return }
        guard try await !HabitPhotoRepository.show(photo, of: habit, on: date, stamp, work.sql) else {
            let news = HabitNews()
            news.add(.date(habit, date))
            if let event = news.event(of: user, sequence) { try await work.emit(event) }
            return
        }
        guard photo != nil else { return }
        let stray = try await HabitPhotoRepository.dropStray(
            of: user,
            .only([(habit: habit, date: date)]),
            at: work.now,
            work.sql
        )
        try await work.dropPhotos(stray, of: user)
    }
}

extension HabitBook {
    /// Gives up all photos of dates that have no completion any more.
    package func dropStrayPhotos() async throws { try await dropStrayPhotos(.all) }

    func dropStrayPhotos(_ dates: HabitPhotoRepository.Dates) async throws {
        let stray = try await HabitPhotoRepository.dropStray(of: user, dates, at: work.now, work.sql)
        try await work.dropPhotos(stray, of: user)
    }
}

extension UnitOfWork {
    /// Emits that media is to delete photos of a user's habits.
    package func dropPhotos(_ photos: [HabitPhotoID], of user: UserID) async throws {
        for first in stride(from: 0, to: photos.count, by: 500) {
            let some = Array(photos[first..<min(first + 500, photos.count)])
            try await emit(HabitPhotosDropped(userID: user, photoIDs: some))
        }
    }
}
