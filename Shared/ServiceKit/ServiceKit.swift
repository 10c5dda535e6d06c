// What a service of another repository is written with: one import instead of nine (deploy/docs/service-kit.md). The messages of other services
// are modules of their own, `import AuthAPI`.
@_exported public import Bus
@_exported public import CommonAPI
@_exported public import Database
@_exported public import Kernel
@_exported public import Outbox
@_exported public import Replicas
@_exported public import Runtime
@_exported public import ServiceRuntime
@_exported public import Wire
