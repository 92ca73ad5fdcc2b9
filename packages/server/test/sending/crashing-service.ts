/**
 * A program: the service, which ends itself without a warning at the moment that the file `crash-at` in its folder
 * names, the number of times that it says. The file is removed first, so that it happens once.
 */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { readProcessConfig } from '../../src/cli/connect.ts'
import { welcomeFirst } from '../../src/cli/first-start.ts'
import { neverOverloaded } from '../../src/door/overload.ts'
import { openLog } from '../../src/kit/log.ts'
import { startService } from '../../src/main.ts'

const config = readProcessConfig()
const log = openLog({ level: 'debug', format: 'json' })
const file = join(config.dataDir, 'crash-at')

let reached = 0

function reachPoint(point: string): void {
  let awaited: string
  try {
    awaited = readFileSync(file, 'utf8')
  } catch {
    return
  }
  const [name, times] = awaited.split(' ')
  if (name !== point || ++reached < Number(times)) return
  rmSync(file)
  process.kill(process.pid, 'SIGKILL')
}

await startService(config, {
  log,
  onRunning: (installation, baseUrl) => welcomeFirst(installation, baseUrl, { folder: config.dataDir, log }),
  isStrict: true,
  // However busy the machine is, these tests are about kills.
  overload: neverOverloaded,
  pace: { pulseSeconds: 0.2 },
  reachPoint,
})
