import Kernel
import Testing

struct FunctionsTests {
    @Test func `are the functions of mathematics, in radians`() {
        for (angle, sine, cosine) in [(0.0, 0.0, 1.0), (.pi / 6, 0.5, 0.866_025_403_784_438_6), (.pi / 2, 1, 0), (.pi, 0, -1)] {
            #expect(abs(Functions.sine(angle) - sine) < 1e-15)
            #expect(abs(Functions.cosine(angle) - cosine) < 1e-15)
        }
        #expect(abs(Functions.arcsine(0.5) - .pi / 6) < 1e-15 && Functions.arcsine(-1) == -.pi / 2)
        #expect(abs(Functions.angle(y: 1, x: -1) - 0.75 * .pi) < 1e-15 && Functions.angle(y: 0, x: 0) == 0)
        #expect(Functions.angle(y: -1, x: 0) == -.pi / 2)
        #expect(Functions.log10(1_000) == 3 && Functions.log10(1) == 0 && Functions.log10(0) == -.infinity)
    }

    @Test func `outside their domain they are no number, and do not trap`() {
        #expect(Functions.arcsine(1.000_001).isNaN && Functions.log10(-1).isNaN)
        #expect(Functions.sine(.infinity).isNaN && Functions.cosine(.nan).isNaN && Functions.angle(y: .nan, x: 0).isNaN)
    }
}
