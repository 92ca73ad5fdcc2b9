/**
 * A program: the service, which a test ends at moments of its work. The file `crash-at` in its folder names a moment
 * at which the service ends itself without a warning, once it has come the number of times that is in the file. The
 * file `hold-at` names one at which the first work that comes to it stays for good; other work goes on until the test
 * kills the service. Each file is removed first, so that it happens once.
 */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { readProcessConfig } from '../../src/cli/connect.ts'
import { neverOverloaded } from '../../src/door/overload.ts'
import { runService } from '../run-service.ts'

const { dataDir } = readProcessConfig()
const [crashFile, holdFile] = [join(dataDir, 'crash-at'), join(dataDir, 'hold-at')]

let reached = 0

function reachPoint(point: string): Promise<void> | undefined {
  const [name, times = '1'] = readIfThere(crashFile)?.split(' ') ?? []
  if (name === point && ++reached >= Number(times)) {
    rmSync(crashFile)
    process.kill(process.pid, 'SIGKILL')
  }
  if (readIfThere(holdFile) !== point) return undefined
  rmSync(holdFile)
  return new Promise(() => {})
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}

await runService({
  isStrict: true,
  // However busy the machine is, these tests are about kills.
  overload: neverOverloaded,
  pace: { pollSeconds: 0.5, passFactorMax: 1, pulseSeconds: 0.2 },
  reachPoint,
})
