import { beforeAll } from 'vitest'
import { type Google, googleIn } from '../src/google/google.ts'
import { openValidation, type Validate } from './published-types.ts'
import { type Answer, readAnswer } from './read-answer.ts'
import { type TestSandbox, useSandbox } from './use-sandbox.ts'

/** An API of Google on a sandbox, with what tests of each of them need. */
export interface TestGoogleApi<Answers> {
  readonly box: TestSandbox
  readonly google: Google
  readonly origin: string
  /** Options of each call of Google's client, by which it reaches the sandbox. */
  readonly options: { rootUrl: string; retry: false; validateStatus: () => true }
  token(user: string, scopes: string[], clientId?: string): Promise<string>
  /** A call without a client. Bytes are sent as they are, and anything else as JSON. */
  ask(
    token: string,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>
  /** The answer of a call, which succeeded and has only fields of Google's type. */
  checked<Name extends keyof Answers>(
    name: Name,
    call: Promise<{ status: number; data: unknown }>,
  ): Promise<Answers[Name]>
}

/**
 * One sandbox for the tests of a file, which begins again before each. `answers` is the file that exports the types of
 * the answers.
 */
export function useGoogleApi<Answers>(host: string, answers: URL): TestGoogleApi<Answers> {
  const box = useSandbox()
  let validate: Validate<Answers> | undefined
  beforeAll(() => {
    validate = openValidation<Answers>(answers)
  })
  const used: TestGoogleApi<Answers> = {
    box,
    get google() {
      return googleIn(box.sandbox.world)
    },
    get origin() {
      return box.origin(host)
    },
    get options() {
      return { rootUrl: `${used.origin}/`, retry: false as const, validateStatus: () => true as const }
    },
    async token(user, scopes, clientId = 'sandbox') {
      const { data } = await box.ask('POST', '/grants', { user, clientId, scopes })
      return data.accessToken
    },
    async ask(token, method, path, body, headers = {}) {
      return readAnswer(
        await fetch(new URL(path, used.origin), {
          method,
          headers: { authorization: `Bearer ${token}`, ...headers },
          ...(body !== undefined && {
            body: body instanceof Buffer ? new Uint8Array(body) : JSON.stringify(body),
          }),
        }),
      )
    },
    async checked(name, call) {
      const { status, data } = await call
      if (status !== 200) throw new Error(`${String(name)}: ${status} ${JSON.stringify(data)}`)
      validate?.(name as keyof Answers & string, data)
      return data as Answers[typeof name]
    },
  }
  return used
}
