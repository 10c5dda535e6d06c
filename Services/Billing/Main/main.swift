import BillingService
import Runtime
import ServiceRuntime

await ProgramMain.run(ServiceHost<BillingModule>.self)
