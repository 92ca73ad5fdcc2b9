/** The sandbox in a process of its own, so that its work counts as neither the service's nor the benchmark's. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { openSandbox } from '../packages/sandbox/src/open-sandbox.ts'
import { type DrivenSandbox, driveSandbox } from '../packages/server/test/servers/sandbox.ts'

export type SandboxProcess = DrivenSandbox & AsyncDisposable

export async function startSandboxProcess(): Promise<SandboxProcess> {
  const program = fileURLToPath(import.meta.url)
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  return {
    // Written by `play`.
    ...driveSandbox(JSON.parse(line as string) as Pick<DrivenSandbox, 'controlUrl' | 'hosts'>),
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit')
      child.stdin.end()
      await ended
    },
  }
}

/** Runs until the process that started it ends. */
async function play(): Promise<never> {
  const { controlUrl, hosts } = await openSandbox()
  process.stdout.write(`${JSON.stringify({ controlUrl, hosts })}\n`)
  process.stdin.resume()
  await once(process.stdin, 'end')
  process.exit(0)
}

if (import.meta.main) await play()
