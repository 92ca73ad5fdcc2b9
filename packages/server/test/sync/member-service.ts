/** A program that runs the service like `waxwing serve`, with the lease of production, but is quicker to share accounts. */
import { readProcessConfig } from '../../src/cli/connect.ts'
import { welcomeFirst } from '../../src/cli/first-start.ts'
import { neverOverloaded } from '../../src/door/overload.ts'
import { openLog } from '../../src/kit/log.ts'
import { startService } from '../../src/main.ts'

const config = readProcessConfig()
const log = openLog({ level: 'info', format: 'json' })
const service = await startService(config, {
  log,
  onRunning: (installation, baseUrl) => welcomeFirst(installation, baseUrl, { folder: config.dataDir, log }),
  overload: neverOverloaded,
  pace: { share: { checkSeconds: 1, stepSeconds: 0.25, settleSeconds: 2 } },
})
process.once('SIGTERM', () => void service.stop().then(() => process.exit(0)))
