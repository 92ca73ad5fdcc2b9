import type { ProviderCalls } from '../http/provider-calls.ts'
import { postForm, readTokens, type TokenAnswer } from '../oauth/token-answer.ts'
import type { SignInClient } from '../sign-in.ts'
import { proofOf } from './assertion.ts'
import type { CloudRow } from './clouds.ts'
import { type Discovery, pathOf } from './discovery.ts'
import { tokenEndpointFailure } from './failure.ts'
import { parseScopes } from './scopes.ts'

export interface TokenEndpoint {
  /** Requests tokens (RFC 6749 sections 4.1.3 and 6). Each request makes a proof of its own. */
  request(
    client: SignInClient,
    form: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<TokenAnswer>
}

export function tokenEndpoint(options: {
  calls: ProviderCalls
  discovery: Discovery
  row: CloudRow
  /** Milliseconds since 1970. */
  now: () => number
}): TokenEndpoint {
  const { calls, discovery, row, now } = options
  return {
    async request(client, form, signal) {
      const { tokenUrl } = await discovery.find(signal)
      const proof = await proofOf(client, { tokenUrl, now: now() })
      const place = { host: row.login, path: pathOf(tokenUrl) }
      const answer = await postForm(calls, place, { ...form, ...proof }, signal)
      if (answer.status !== 200) throw tokenEndpointFailure(answer)
      return readTokens(answer, { provider: 'Microsoft', parseScopes: text => parseScopes(row, text) })
    },
  }
}
