import { afterAll, beforeAll, beforeEach } from 'vitest'
import { openSandbox, type Sandbox } from '../src/open-sandbox.ts'

export interface TestSandbox {
  readonly sandbox: Sandbox
  origin(host: string): string
  /** Calls the control API. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every kind
  ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: any }>
}

/** One sandbox for the tests of a file, which begins again before each. */
export function useSandbox(): TestSandbox {
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
      const response = await fetch(`${sandbox().controlUrl}${path}`, {
        method,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      return { status: response.status, body: text === '' ? null : JSON.parse(text) }
    },
  }
  beforeAll(async () => {
    open = await openSandbox()
  })
  beforeEach(async () => used.ask('POST', '/reset'))
  afterAll(async () => open?.[Symbol.asyncDispose]())
  return used
}
