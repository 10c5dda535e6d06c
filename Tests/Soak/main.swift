import Runtime

await ProgramMain.run(Soak.command)
