import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { CountingOptions } from './counting-process.ts'
import type { Asked } from './load-window.ts'

const PROGRAM = fileURLToPath(new URL('./counting-process.ts', import.meta.url))

/** Starts a process that counts calls in Redis, and waits until it is ready. */
export async function startCounting(options: CountingOptions) {
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  await lines.next()
  return {
    /** Lets its clients ask, and returns what they were told. */
    async go(): Promise<Asked[]> {
      child.stdin.write('go\n')
      const { value } = await lines.next()
      await ended
      return JSON.parse(value ?? '[]') as Asked[]
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
