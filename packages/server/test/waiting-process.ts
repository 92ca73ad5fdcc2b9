import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { guardProcess } from './guard/guard.ts'

/**
 * Starts a program that works on command, and waits until it is ready. The program reads its options from its first
 * argument as JSON, prints a line when it is ready, and one with its result as JSON.
 */
export async function startWaitingProcess<Result>(program: URL, options: object) {
  const child = spawn(process.execPath, [fileURLToPath(program), JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  guardProcess(child)
  const ended = once(child, 'exit')
  // It may die before its command.
  child.stdin.on('error', () => {})
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  await lines.next()
  return {
    /** Lets it work. Returns its result, or null if it died. */
    async go(): Promise<Result | null> {
      child.stdin.write('go\n')
      const { value, done } = await lines.next()
      await ended
      return done ? null : (JSON.parse(value) as Result)
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
