import { spawn } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { serverPid } from '../../src/database/embedded/cluster.ts'
import { runSteps } from '../../../../scripts/run-steps.ts'
import { guardProcess } from '../guard/guard.ts'
import { isRunning, until } from '../service-process.ts'

const PLANTED = path.join(import.meta.dirname, 'planted')
const VITEST = path.resolve(import.meta.dirname, '../../../../node_modules/.bin/vitest')

/** Finds the folder of a run's own database server: its name holds the number of the process. */
function findServerFolder(pid: number): string {
  const found = ['/dev/shm', tmpdir()].flatMap(parent =>
    globSync(`waxwing-test-${pid}-*`, { cwd: parent }).map(name => path.join(parent, name)),
  )
  expect(found).toHaveLength(1)
  return found[0]!
}

describe.concurrent('an interrupted run', () => {
  test.skipIf(process.platform !== 'linux')(
    'leaves no service and no database, even if it is killed',
    async () => {
      const run = spawn(VITEST, ['run', 'held', '--config', path.join(PLANTED, 'vitest.config.ts')], {
        env: { ...process.env, PLANTED_SETUP: 'yes' },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      guardProcess(run)
      let output = ''
      run.stdout.setEncoding('utf8').on('data', (text: string) => void (output += text))
      await until(() => output.includes('held: ') || run.exitCode !== null, 'a service runs')
      const held: { folder: string; pid: number } = JSON.parse(/held: (.*)/.exec(output)?.[1] ?? output)
      const folders = [
        path.join(held.folder, 'postgres/cluster'),
        path.join(findServerFolder(run.pid!), 'data'),
      ]
      const pids = [held.pid, ...(await Promise.all(folders.map(serverPid)))]
      expect(pids.map(pid => pid !== null && isRunning(pid))).toEqual([true, true, true])

      run.kill('SIGKILL')
      await until(() => pids.every(pid => !isAlive(pid!)), 'everything has ended')
      await until(() => !folders.some(existsSync), 'nothing is left on the disk')
    },
  )

  test('passes the signal on to the step that runs, and begins no other', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-planted-'))
    const script = `process.on('SIGTERM', () => { console.log('it ends'); process.exit(3) })
      setInterval(() => {}, 1000)
      console.log('it runs')`
    const interruption = new AbortController()
    let printed = ''
    const print = (text: string) => {
      printed += text
      if (text.includes('it runs')) interruption.abort('SIGTERM')
    }
    const steps = ['first', 'second'].map(name => ({
      name,
      command: [process.execPath, '-e', script] as const,
    }))
    const interrupted = interruption.signal
    const { failed } = await runSteps(steps, { cwd: folder, folder, print, interrupted })
    expect(failed).toEqual(['first'])
    expect(printed).toContain('it ends')
    expect(printed).not.toContain('second')
    await rm(folder, { recursive: true })
  })
})

/** Whether a process has not ended, even if nobody has asked for its end yet. */
function isAlive(pid: number): boolean {
  try {
    return isRunning(pid) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
