internal import MediaAPI
internal import MediaAvatars
internal import MediaCards
internal import MediaCore
internal import MediaHabitPhotos
internal import MediaPlaces
internal import MediaSnaps
public import Runtime
public import ServiceRuntime

/// What `media` consists of.
public enum MediaModule: ServiceModule {
    public static let name = "media"
    public static let about =
        "snaps, their renditions, the feed, avatars, photos of habits, milestone cards, posts pinned to places"
    public static var descriptor: (bytes: [UInt8], hash: String) { (MediaDescriptor.bytes, MediaDescriptor.hash) }
    public static let features = [
        CoreFeature.feature(blobs), SnapsFeature.feature, AvatarsFeature.feature, CardsFeature.feature,
        PlacesFeature.feature, HabitPhotosFeature.feature,
    ]
    public static var commands: [ProgramCommand] { [MediaCommands.checkBlobs] }

    /// Every kind of blob that the features store.
    static let blobs: [BlobTable] = [
        SnapsFeature.blobs, AvatarsFeature.blobs, CardsFeature.blobs, PlacesFeature.blobs, PlacesFeature.uploadBlobs,
        HabitPhotosFeature.blobs,
    ]
}
