/**
 * A program: the service, which ends itself without a warning at the moment that the file `crash-at` in its folder
 * names. The file is removed first, so that it happens once.
 */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { readProcessConfig } from '../../src/cli/connect.ts'
import { welcomeFirst } from '../../src/cli/first-start.ts'
import { openLog } from '../../src/kit/log.ts'
import { startService } from '../../src/main.ts'

const config = readProcessConfig()
const log = openLog({ level: 'debug', format: 'json' })
const file = join(config.dataDir, 'crash-at')

function reachPoint(point: string): void {
  try {
    if (readFileSync(file, 'utf8') !== point) return
  } catch {
    return
  }
  rmSync(file)
  process.kill(process.pid, 'SIGKILL')
}

await startService(config, {
  log,
  onRunning: (installation, baseUrl) => welcomeFirst(installation, baseUrl, { folder: config.dataDir, log }),
  isStrict: true,
  reachPoint,
})
