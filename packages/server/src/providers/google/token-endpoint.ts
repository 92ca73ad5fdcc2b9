import { z } from 'zod'
import type { Secret } from '../../kit/secret.ts'
import type { ProviderAnswer, ProviderCalls } from '../http/provider-calls.ts'
import { readJson } from '../oauth/read-json.ts'
import {
  busy,
  down,
  type Meaning,
  postForm,
  readTokens,
  type TokenAnswer,
  tokenFailure,
} from '../oauth/token-answer.ts'
import { HOSTS } from './hosts.ts'
import { parseScopes } from './scopes.ts'

const PROVIDER = 'Google'
const errorAnswer = z.object({ error: z.string().max(100) })

/** Requests tokens (RFC 6749 sections 4.1.3 and 6). */
export async function requestTokens(
  calls: ProviderCalls,
  form: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<TokenAnswer> {
  const answer = await postForm(calls, { host: HOSTS.tokens, path: '/token' }, form, signal)
  if (answer.status !== 200) throw failureOf(answer)
  return readTokens(answer, { provider: PROVIDER, parseScopes })
}

/** Ends a grant (RFC 7009). A grant that is unknown there has ended already. */
export async function requestRevocation(
  calls: ProviderCalls,
  token: Secret,
  signal: AbortSignal,
): Promise<void> {
  const place = { host: HOSTS.tokens, path: '/revoke' }
  const answer = await postForm(calls, place, { token: token.reveal() }, signal)
  if (answer.status === 200 || errorOf(answer) === 'invalid_token') return
  throw failureOf(answer)
}

const OUR_APP: Meaning = {
  kind: 'misconfigured',
  reason: 'invalid_client',
  message: 'Google refuses the OAuth app. Check its client id and secret.',
}
const CLOSED: Meaning = {
  kind: 'mailbox_gone',
  reason: 'provider_forbidden',
  message: 'The administrator of the mailbox does not allow this OAuth app.',
}

/** Meanings of the error codes of an answer (RFC 6749 section 5.2, and Google's own), with any status below 500. */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  invalid_grant: { kind: 'grant_refused', message: 'Google no longer accepts the grant.' },
  invalid_client: OUR_APP,
  unauthorized_client: OUR_APP,
  deleted_client: OUR_APP,
  disabled_client: OUR_APP,
  admin_policy_enforced: CLOSED,
  org_internal: CLOSED,
  rate_limit_exceeded: busy(PROVIDER),
  slow_down: busy(PROVIDER),
  server_error: down(PROVIDER),
  internal_failure: down(PROVIDER),
  temporarily_unavailable: down(PROVIDER),
}

const failureOf = (answer: ProviderAnswer) =>
  tokenFailure(answer, PROVIDER, refused => {
    const word = errorOf(refused)
    return word !== null && Object.hasOwn(MEANINGS, word) ? MEANINGS[word] : undefined
  })

function errorOf(answer: ProviderAnswer): string | null {
  const parsed = errorAnswer.safeParse(readJson(answer))
  return parsed.success ? parsed.data.error : null
}
