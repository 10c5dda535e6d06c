/// A PostgreSQL type, by its object id (`pg_type.oid`; those of built-in types are fixed for ever).
public struct PostgresType: Hashable, Sendable {
    /// The object id.
    public let oid: UInt32

    /// The type with this object id.
    public init(oid: UInt32) { self.oid = oid }

    /// `boolean`
    public static let bool = PostgresType(oid: 16)
    /// `bytea`
    public static let bytea = PostgresType(oid: 17)
    /// `name`
    public static let name = PostgresType(oid: 19)
    /// `bigint`
    public static let int8 = PostgresType(oid: 20)
    /// `smallint`
    public static let int2 = PostgresType(oid: 21)
    /// `integer`
    public static let int4 = PostgresType(oid: 23)
    /// `text`
    public static let text = PostgresType(oid: 25)
    /// `oid`
    public static let oid = PostgresType(oid: 26)
    /// `json`
    public static let json = PostgresType(oid: 114)
    /// `real`
    public static let float4 = PostgresType(oid: 700)
    /// `double precision`
    public static let float8 = PostgresType(oid: 701)
    /// An untyped literal.
    public static let unknown = PostgresType(oid: 705)
    /// `character(n)`
    public static let bpchar = PostgresType(oid: 1042)
    /// `character varying(n)`
    public static let varchar = PostgresType(oid: 1043)
    /// `date`
    public static let date = PostgresType(oid: 1082)
    /// `timestamp with time zone`
    public static let timestamptz = PostgresType(oid: 1184)
    /// `interval`
    public static let interval = PostgresType(oid: 1186)
    /// `numeric`
    public static let numeric = PostgresType(oid: 1700)
    /// `uuid`
    public static let uuid = PostgresType(oid: 2950)
    /// `jsonb`
    public static let jsonb = PostgresType(oid: 3802)

    /// Types that users define begin here: enums, domains, extensions.
    static let firstUserOID: UInt32 = 16384

    /// The type of this array's elements; nil when it is no array, or one that this module does not bind.
    var element: PostgresType? { Self.elements.first { $0.array == self } }

    private static let elements: [PostgresType] = [
        .bool, .bytea, .int2, .int4, .text, .int8, .float4, .float8, .date, .timestamptz, .interval, .uuid,
    ]

    /// The array type with this element type; nil when this module does not bind it.
    var array: PostgresType? {
        switch self {
        case .bool: PostgresType(oid: 1000)
        case .bytea: PostgresType(oid: 1001)
        case .int2: PostgresType(oid: 1005)
        case .int4: PostgresType(oid: 1007)
        case .text: PostgresType(oid: 1009)
        case .int8: PostgresType(oid: 1016)
        case .float4: PostgresType(oid: 1021)
        case .float8: PostgresType(oid: 1022)
        case .date: PostgresType(oid: 1182)
        case .timestamptz: PostgresType(oid: 1185)
        case .interval: PostgresType(oid: 1187)
        case .uuid: PostgresType(oid: 2951)
        default: nil
        }
    }
}
