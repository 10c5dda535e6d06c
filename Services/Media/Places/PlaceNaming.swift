internal import CPlaceNames
internal import MediaDomain

extension PlaceNames {
    /// The names that this program has. They are read once, when the first post is named: some 30 ms, and 3 MB.
    static let known = PlaceNames(UnsafeRawBufferPointer(start: place_names_start(), count: place_names_size()))
}
