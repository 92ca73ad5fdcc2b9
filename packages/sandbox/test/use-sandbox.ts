import { afterAll, beforeAll, beforeEach } from 'vitest'
import { openSandbox, type Sandbox, type SandboxOptions } from '../src/open-sandbox.ts'
import { type Answer, readAnswer } from './read-answer.ts'

export interface TestSandbox {
  readonly sandbox: Sandbox
  origin(host: string): string
  /** Calls the control API. Bytes are sent as they are, and anything else as JSON. */
  ask(method: string, path: string, body?: unknown): Promise<Answer>
}

/** One sandbox for the tests of a file, which begins again before each. */
export function useSandbox(options: SandboxOptions = {}): TestSandbox {
  let open: Sandbox | undefined
  const sandbox = () => {
    if (!open) throw new Error('the sandbox runs only while tests do')
    return open
  }
  const used: TestSandbox = {
    get sandbox() {
      return sandbox()
    },
    origin: host => sandbox().hosts[host] ?? '',
    async ask(method, path, body) {
      return readAnswer(
        await fetch(`${sandbox().controlUrl}${path}`, {
          method,
          ...(body !== undefined && {
            body: body instanceof Buffer ? new Uint8Array(body) : JSON.stringify(body),
          }),
        }),
      )
    },
  }
  beforeAll(async () => {
    open = await openSandbox(options)
  })
  beforeEach(async () => used.ask('POST', '/reset'))
  afterAll(async () => open?.[Symbol.asyncDispose]())
  return used
}
