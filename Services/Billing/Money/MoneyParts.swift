internal import BillingAPI
internal import Bus
internal import CommonAPI
internal import Kernel
internal import Outbox
internal import OutgoingHTTP
internal import Runtime
internal import ServiceRuntime
internal import StreaksAPI

/// How the feature is put together.
struct MoneyParts {
    private let environment: ServiceEnvironment
    private let secrets: WebhookSecrets
    private let client: RevenueCatClient
    private let ledger: LedgerRepository
    private let tokens: TokenOperations
    private let wallets: WalletViews
    private let catalog: CatalogRepository
    private let customers: Customers
    private let purchases: Purchases
    private let events: StoreEvents
    private let questions: StoreQuestions
    private let useful: UsefulGoods

    init(_ environment: ServiceEnvironment) throws {
        let (settings, database) = (environment.settings, environment.database)
        self.environment = environment
        secrets = WebhookSecrets(
            secrets: try settings.get(MoneySettings.webhookSecret),
            signingSecret: try settings.get(MoneySettings.signingSecret)
        )
        client = try RevenueCatClient(settings)
        ledger = LedgerRepository(database: database)
        tokens = TokenOperations(ledger: ledger)
        wallets = WalletViews(ledger: ledger)
        catalog = CatalogRepository(database: database)
        customers = Customers(database: database, bus: environment.bus)
        useful = UsefulGoods(goods: GoodsClient(environment.bus))
        purchases = Purchases(
            repository: PurchaseRepository(database: database),
            ledger: ledger,
            goods: GoodsClient(environment.bus),
            work: environment.work,
            logger: environment.logger
        )
        let stored = StoreEventRepository(database: database)
        let premium = try settings.get(MoneySettings.premium)
        events = StoreEvents(
            events: stored,
            customers: customers,
            entitling: Entitling(ledger: ledger, asks: client.isOn),
            packs: Packs(
                events: stored,
                catalog: catalog,
                purchases: purchases,
                premium: premium,
                logger: environment.logger
            ),
            sandbox: try settings.get(MoneySettings.sandbox),
            premium: premium,
            work: environment.work,
            logger: environment.logger
        )
        questions = StoreQuestions(
            client: client,
            events: events,
            work: environment.work,
            database: database,
            logger: environment.logger
        )
    }

    var all: FeatureParts {
        FeatureParts(
            endpoints: billing + store,
            consumers: [
                TokenEarnedConsumer.handler(ledger), TokenReturnedConsumer.handler(tokens), CoinsEarnedConsumer.handler(ledger),
                LifetimeConsumer.handler(events.entitling),
            ],
            jobs: BillingJobs(
                events: events,
                questions: questions,
                purchases: purchases,
                client: client,
                environment: environment
            ).all
        )
    }

    private var billing: [Endpoint] {
        let mutations = environment.mutations
        return BillingService.endpoints(
            getEntitlements: GetEntitlements(database: environment.database, clock: environment.clock),
            restore: Restore(questions: questions, mutations: mutations),
            revenueCatWebhook: RevenueCatWebhook(secrets: secrets, events: events, mutations: mutations),
            getRecoveryBalance: GetRecoveryBalance(ledger: ledger),
            spendToken: SpendToken(tokens: tokens, mutations: mutations),
            refundToken: RefundToken(tokens: tokens, mutations: mutations)
        )
    }

    private var store: [Endpoint] {
        let mutations = environment.mutations
        return StoreService.endpoints(
            getWallet: GetWallet(wallets: wallets),
            getCatalog: GetCatalog(
                catalog: catalog,
                purchases: purchases.repository,
                wallets: wallets,
                useful: useful,
                clock: environment.clock
            ),
            purchase: Purchase(
                catalog: catalog,
                purchases: purchases,
                wallets: wallets,
                useful: useful,
                mutations: mutations
            ),
            confirmPurchase: ConfirmPurchase(
                confirmations: Confirmations(purchases: purchases, questions: questions),
                mutations: mutations
            ),
            getUserWallet: GetUserWallet(wallets: wallets, work: environment.work),
            grantToUser: GrantToUser(ledger: ledger, customers: customers, mutations: mutations, logger: environment.logger)
        )
    }
}

extension RevenueCatClient {
    /// As the operator has set it.
    init(_ settings: Settings) throws {
        let url = try settings.get(MoneySettings.url)
        self.init(
            http: OutgoingHTTP(threads: 2, queueLimit: 64, keepsConnections: true),
            url: url.hasSuffix("/") ? String(url.dropLast()) : url,
            key: try settings.get(MoneySettings.key),
            premium: try settings.get(MoneySettings.premium)
        )
    }
}

extension BillingAdminActed {
    /// What an administrator does in this transaction, for the audit log, which lies in `auth`.
    init(
        _ kind: AdminActionKind,
        of user: UserID,
        by admin: UserID,
        _ detail: String,
        _ context: CallContext,
        _ work: UnitOfWork
    ) {
        self.init(
            actionID: work.ids.make(),
            adminID: admin,
            kind: kind,
            userID: user,
            detail: detail,
            takenAt: work.now,
            requestID: context.requestID
        )
    }
}
