/// The description of a picture: a background and layers over it, from back to front. Lengths are pixels, y grows downwards.
public struct Poster: Sendable {
    /// Width in pixels, 1…4096.
    public var width: Int
    /// Height in pixels, 1…4096.
    public var height: Int
    /// The background.
    public var background: Gradient
    /// The layers over the background.
    public var layers: [Layer]

    /// A poster.
    public init(width: Int, height: Int, background: Gradient, layers: [Layer]) {
        self.width = width
        self.height = height
        self.background = background
        self.layers = layers
    }

    /// A colour of sRGB.
    public struct Colour: Sendable, Hashable {
        /// 0…255 each.
        public var red, green, blue: UInt8
        /// 0 (invisible) … 1 (opaque).
        public var opacity: Double

        /// A colour from `0xRRGGBB`.
        public init(_ hex: UInt32, opacity: Double = 1) {
            self.red = UInt8(truncatingIfNeeded: hex >> 16)
            self.green = UInt8(truncatingIfNeeded: hex >> 8)
            self.blue = UInt8(truncatingIfNeeded: hex)
            self.opacity = min(max(opacity, 0), 1)
        }

        /// White, also translucent.
        public static func white(_ opacity: Double = 1) -> Colour { Colour(0xFFFFFF, opacity: opacity) }
    }

    /// A gradient from one corner to the opposite one, with a few stops at equal distances.
    public struct Gradient: Sendable, Hashable {
        /// At least one; opaque.
        public var stops: [Colour]

        /// A gradient from the top left corner to the bottom right one.
        public init(_ stops: [Colour]) { self.stops = stops }
    }

    /// A circle.
    public struct Circle: Sendable, Hashable {
        /// Its centre and radius.
        public var x, y, radius: Int

        /// A circle around a point.
        public init(x: Int, y: Int, radius: Int) {
            self.x = x
            self.y = y
            self.radius = radius
        }
    }

    /// One line of text, centred on a point. It never exceeds its width: a line that is too long is made smaller, and if that is
    /// not enough, ends with an ellipsis.
    public struct Line: Sendable, Hashable {
        /// Plain text without markup. Right-to-left scripts, CJK and emoji are supported.
        public var text: String
        /// Family and weight, `Inter Semi-Bold`; missing characters come from the Noto fonts.
        public var font: String
        /// Height of the em in pixels, and the smallest it may become.
        public var size, leastSize: Int
        /// The colour of the text; emoji keep their colours but use the opacity.
        public var colour: Colour
        /// Added between letters, in pixels at `size`.
        public var spacing: Int
        /// The centre of the line.
        public var x: Int
        /// Its vertical position.
        public var y: Height
        /// The largest width in pixels.
        public var width: Int

        /// A line of text.
        public init(
            _ text: String,
            font: String,
            size: Int,
            leastSize: Int? = nil,
            colour: Colour = .white(),
            spacing: Int = 0,
            x: Int,
            y: Height,
            width: Int
        ) {
            self.text = text
            self.font = font
            self.size = size
            self.leastSize = leastSize ?? size
            self.colour = colour
            self.spacing = spacing
            self.x = x
            self.y = y
            self.width = width
        }
    }

    /// The vertical position of a line of text.
    public enum Height: Sendable, Hashable {
        /// The baseline. Scripts without a baseline are centred where capitals would be.
        case baseline(Int)
        /// The visible text is centred here.
        case middle(Int)
    }

    /// One thing on the poster.
    public enum Layer: Sendable {
        /// Light that fades towards the edge of the circle.
        case glow(Circle, Colour)
        /// A disc of one colour, with soft edges.
        case disc(Circle, Colour)
        /// A bar with round ends: its centre, width and height.
        case pill(x: Int, y: Int, width: Int, height: Int, Colour)
        /// A photo cut to a disc; JPEG, PNG, WebP or HEIC. One that cannot be decoded is left out.
        case photo(Circle, [UInt8])
        /// A line of text.
        case line(Line)
    }
}
