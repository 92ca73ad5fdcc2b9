import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Answer {
  status: number
  headers?: Record<string, string>
  body: unknown
}

/** A token endpoint whose refresh tokens can be used once, and whose every answer a test may replace. */
export interface TokenEndpoint extends AsyncDisposable {
  origin: URL
  /** Refreshes asked for, in any way. */
  readonly calls: number
  /** A new grant: its refresh token. */
  grant(): string
  /** Ends a grant, whatever its refresh tokens are now. */
  revoke(refreshToken: string): void
  /** Answers the next calls in place of the endpoint; null: as it would itself. May wait. */
  answer: ((call: number, refreshToken: string) => Promise<Answer | null> | Answer | null) | null
}

export interface EndpointOptions {
  /** Whether a refresh token that was used still works until its successor is. */
  hasGrace?: boolean
  lifeSeconds?: number
}

export const REFUSED: Answer = { status: 400, body: { error: 'invalid_grant' } }

/** Each grant is a family of refresh tokens, of which the last one counts. */
export async function openTokenEndpoint({
  hasGrace = false,
  lifeSeconds = 3600,
}: EndpointOptions = {}): Promise<TokenEndpoint> {
  const families = new Map<string, string[]>()
  const newToken = (kind: string) => `${kind}${randomBytes(24).toString('base64url')}`
  let calls = 0

  function refresh(token: string): Answer {
    const family = families.get(token)
    const last = family?.at(-1)
    const isLast = token === last
    const isGraced = hasGrace && token === family?.at(-2)
    if (!family || !(isLast || isGraced)) return REFUSED
    const next = newToken('1//')
    family.push(next)
    families.set(next, family)
    return {
      status: 200,
      body: { access_token: newToken('ya29.'), expires_in: lifeSeconds, refresh_token: next },
    }
  }

  const endpoint = {
    origin: new URL('http://127.0.0.1'),
    get calls() {
      return calls
    },
    grant() {
      const first = newToken('1//')
      families.set(first, [first])
      return first
    },
    revoke(refreshToken: string) {
      const family = families.get(refreshToken) ?? []
      for (const token of family) families.delete(token)
    },
    answer: null as TokenEndpoint['answer'],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const form = new URLSearchParams(Buffer.concat(chunks).toString())
      const refreshToken = form.get('refresh_token') ?? ''
      calls++
      void Promise.resolve(endpoint.answer?.(calls, refreshToken) ?? null).then(given => {
        const { status, headers, body } = given ?? refresh(refreshToken)
        response.writeHead(status, { 'content-type': 'application/json', ...headers })
        response.end(typeof body === 'string' ? body : JSON.stringify(body))
      })
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  endpoint.origin.port = String(port)
  return endpoint
}
