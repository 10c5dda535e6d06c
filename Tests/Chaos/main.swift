import Runtime

await ProgramMain.run(Chaos.command)
