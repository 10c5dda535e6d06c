internal import Database
internal import Kernel

/// Which habits of a user are read; deleted ones never.
enum HabitSelection: Sendable {
    /// Those that are not in the archive.
    case active
    /// Those in the archive too.
    case all([HabitCategoryID])
    case one(HabitID)
    /// Of a category and not in the archive, except one.
    case related(HabitCategoryID, except: HabitID)

    /// On `habit` h.
    var condition: Query {
        switch self {
        case .active: "h.deleted_at IS NULL AND h.archived_at IS NULL"
        case .all([]): "h.deleted_at IS NULL"
        case .all(let categories): "h.deleted_at IS NULL AND h.category_id = ANY(\(categories))"
        case .one(let id): "h.deleted_at IS NULL AND h.id = \(id)"
        case .related(let category, let id):
            "h.deleted_at IS NULL AND h.archived_at IS NULL AND h.category_id = \(category) AND h.id <> \(id)"
        }
    }
}
