import BillingService
import Runtime

await ServiceMain.run(BillingModule.self)
