import Kernel
import Testing

@Suite struct ServiceCallTests {
    @Test func `a principal is passed on to what services call, of services that are known here`() {
        let asked: [(first: String, subject: String, may: Bool)] = [
            ("rpc.streaks.v1.GetStreak", "rpc.billing.v1.GetRecoveryBalance", true),
            // Back to the service that was called first, for another of its methods.
            ("rpc.streaks.v1.PurchaseFreezes", "rpc.streaks.v1.GrantGoods", true),
            ("rpc.auth.v1.ListParkedEvents", "rpc.media.v1.ParkedEvents", true),
            ("rpc.media.v1.GetFeed", "rpc.auth.v1.ListAccounts", false), ("rpc.media.v1.GetFeed", "rpc.auth.v1.GetMe", false),
            ("rpc.media.v1.GetFeed", "rpc.media.v1.UploadSnap", false),
            ("rpc.media.v1.GetFeed", "rpc.media.v2.FindSnapOwner", false),
            ("rpc.quotes.v1.Say", "rpc.auth.v1.GetMe", true),
            ("rpc.auth.v1.GetMe", "rpc.quotes.v1.Say", true),
        ]
        for (first, subject, may) in asked {
            #expect(ServiceCalls.mayPassOn(from: first, to: subject) == may, "\(first) to \(subject)")
        }
    }

    @Test func `subjects have version 1 unless a method says another`() {
        #expect(ServiceCalls.subject("quotes", "GetQuote") == "rpc.quotes.v1.GetQuote")
        #expect(ServiceCalls.subject("quotes", "v2.GetQuote") == "rpc.quotes.v2.GetQuote")
    }
}
