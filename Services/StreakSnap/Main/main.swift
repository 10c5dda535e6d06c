import BillingService
import Runtime

/// The one binary for development and small installations (D10).
await ProgramMain.run(
    "streaksnap",
    about: "all of StreakSnap in one binary",
    version: BuildInfo.version,
    commands: [
        Up.command, Streams.command, Render.command, AccountCommands.makeAdmin, AccountCommands.removeSecondFactor,
        AccountCommands.rotateKey, OutageCommands.declareOutage, BillingCommands.replayPurchases, BackupCommands.backup,
        BackupCommands.restore, Photo.command, TestEnvironment.command,
    ]
)
