import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { CallingProcessOptions } from './calling-process.ts'

const PROGRAM = fileURLToPath(new URL('./calling-process.ts', import.meta.url))

/** A calling process that is ready. */
export async function startCalling(options: CallingProcessOptions) {
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  await lines.next()
  return {
    /** Lets it call. Returns the digests of the tokens that its callers got, or null if it died. */
    async go(): Promise<string[] | null> {
      child.stdin.write('go\n')
      const { value, done } = await lines.next()
      await ended
      return done ? null : (JSON.parse(value) as string[])
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
