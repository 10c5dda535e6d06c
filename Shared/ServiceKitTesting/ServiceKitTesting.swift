// What the tests of a service of another repository are written with (deploy/docs/service-kit.md).
@_exported public import DevEnvironment
@_exported public import ServiceKit
@_exported public import TestSupport
