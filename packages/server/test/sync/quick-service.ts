/** A program that runs the service like `waxwing serve`, but with shorter times and strict checks of its answers. */
import { readProcessConfig } from '../../src/cli/connect.ts'
import { welcomeFirst } from '../../src/cli/first-start.ts'
import { neverOverloaded } from '../../src/door/overload.ts'
import { openLog } from '../../src/kit/log.ts'
import { startService } from '../../src/main.ts'

const CLOCK_SPEED = 60

const config = readProcessConfig()
const log = openLog({ level: 'debug', format: 'json' })
await startService(config, {
  log,
  onRunning: (installation, baseUrl) => welcomeFirst(installation, baseUrl, { folder: config.dataDir, log }),
  isStrict: true,
  overload: neverOverloaded,
  pace: { pollSeconds: 0.2, pulseSeconds: 0.2, now: () => Date.now() * CLOCK_SPEED },
})
