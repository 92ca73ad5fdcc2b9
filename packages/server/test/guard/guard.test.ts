import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { until } from '../service-process.ts'
import { type GuardedProcess, guardProcess, startGuard } from './guard.ts'

/** A process that runs until it is ended. */
function startProcess(): ChildProcess {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

test('the guard ends the processes of its run, and none that has the number of one by now', async () => {
  // The guard of this run stays the one of the other tests.
  vi.stubEnv('WAXWING_TEST_GUARD', '')
  onTestFinished(() => void vi.unstubAllEnvs())
  using guard = startGuard()
  const folder = process.env['WAXWING_TEST_GUARD']!
  const [ours, another, unknown] = [startProcess(), startProcess(), startProcess()]
  for (const child of [ours, another, unknown]) guardProcess(child)
  const startTimes = new Map<number | undefined, string | null>([
    [another.pid, '1'],
    [unknown.pid, null],
  ])
  for (const file of readdirSync(folder).map(name => path.join(folder, name))) {
    const guarded: GuardedProcess = JSON.parse(readFileSync(file, 'utf8'))
    const startTime = startTimes.get(guarded.pid)
    if (startTime !== undefined) writeFileSync(file, JSON.stringify({ ...guarded, startTime }))
  }

  const ended = once(ours, 'exit')
  guard[Symbol.dispose]()
  expect(await ended).toEqual([null, 'SIGKILL'])
  await until(() => !existsSync(folder), 'the guard is done')
  expect([another, unknown].map(({ exitCode, signalCode }) => exitCode ?? signalCode)).toEqual([null, null])
})
