import SampleNameService
import ServiceKit

await ProgramMain.run(ServiceHost<SampleNameModule>.self)
