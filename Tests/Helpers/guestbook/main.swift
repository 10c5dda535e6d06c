import Runtime
import ServiceRuntime

// A service of three small features, for tests that run them on different replicas and kill these.
await ProgramMain.run(ServiceHost<GuestbookModule>.self)
