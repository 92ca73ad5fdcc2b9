import { z } from 'zod'
import { Secret } from '../../kit/secret.ts'
import { type FailureKind, type FailureReason, ProviderFailure } from '../failure.ts'
import type { ProviderAnswer, ProviderCalls } from '../http/provider-calls.ts'
import { retryAfterSeconds } from '../http/retry-after.ts'
import type { Tokens } from '../sign-in.ts'
import { HOSTS } from './hosts.ts'
import { parseScopes } from './scopes.ts'

/** All within the time for which a refresh is leased. */
const SECONDS = { firstByteSeconds: 15, wholeSeconds: 20, answerBytesMax: 64 * 1024 }
/** The life of a token if the provider names none. */
const LIFE_SECONDS = 3600

const tokenText = z.string().min(1).max(8192)
const tokenAnswer = z.object({
  access_token: tokenText,
  expires_in: z.number().nonnegative().default(LIFE_SECONDS),
  refresh_token: tokenText.optional(),
  scope: z.string().max(8192).optional(),
  id_token: tokenText.optional(),
})
const errorAnswer = z.object({ error: z.string().max(100) })

export interface TokenAnswer extends Tokens {
  /** Null if the answer has none. */
  scopes: string[] | null
  idToken: string | null
}

/** Requests tokens (RFC 6749 sections 4.1.3 and 6). */
export async function requestTokens(
  calls: ProviderCalls,
  form: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<TokenAnswer> {
  const answer = await postForm(calls, '/token', form, signal)
  if (answer.status !== 200) throw failureOf(answer)
  const parsed = tokenAnswer.safeParse(readJson(answer))
  if (!parsed.success) throw new ProviderFailure('unavailable', 'Google answered with no token.')
  const { access_token, expires_in, refresh_token, scope, id_token } = parsed.data
  return {
    accessToken: new Secret(access_token),
    expiresInSeconds: expires_in,
    refreshToken: refresh_token === undefined ? null : new Secret(refresh_token),
    scopes: scope === undefined ? null : parseScopes(scope),
    idToken: id_token ?? null,
  }
}

/** Ends a grant (RFC 7009). A grant that is unknown there has ended already. */
export async function requestRevocation(
  calls: ProviderCalls,
  token: Secret,
  signal: AbortSignal,
): Promise<void> {
  const answer = await postForm(calls, '/revoke', { token: token.reveal() }, signal)
  if (answer.status === 200 || errorOf(answer) === 'invalid_token') return
  throw failureOf(answer)
}

function postForm(
  calls: ProviderCalls,
  path: string,
  form: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<ProviderAnswer> {
  return calls.call({
    host: HOSTS.tokens,
    method: 'POST',
    path,
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    body: new URLSearchParams(form).toString(),
    signal,
    ...SECONDS,
  })
}

interface Meaning {
  kind: FailureKind
  reason?: FailureReason
  message: string
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
const BUSY: Meaning = { kind: 'throttled', message: 'Google limits requests for tokens.' }
const DOWN: Meaning = { kind: 'unavailable', message: 'Google cannot issue tokens now.' }
const OTHER: Meaning = { kind: 'rejected', message: 'Google refuses to issue a token.' }

/** Meanings of the error codes of an answer (RFC 6749 section 5.2, and Google's own), with any status below 500. */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  invalid_grant: { kind: 'grant_refused', message: 'Google no longer accepts the grant.' },
  invalid_client: OUR_APP,
  unauthorized_client: OUR_APP,
  deleted_client: OUR_APP,
  disabled_client: OUR_APP,
  admin_policy_enforced: CLOSED,
  org_internal: CLOSED,
  rate_limit_exceeded: BUSY,
  slow_down: BUSY,
  server_error: DOWN,
  internal_failure: DOWN,
  temporarily_unavailable: DOWN,
}

function failureOf(answer: ProviderAnswer): ProviderFailure {
  const { kind, reason, message } = meaningOf(answer)
  const pause = retryAfterSeconds(answer.headers, Date.now())
  return new ProviderFailure(kind, message, {
    ...(reason && { reason }),
    ...(pause !== null && { retryAfterSeconds: pause }),
  })
}

/** Only an explicit refusal ends a grant: a proxy, or an overloaded server, may answer with any status. */
function meaningOf(answer: ProviderAnswer): Meaning {
  const { status } = answer
  if (status === 429) return BUSY
  if (status >= 500 || status < 400 || status === 408) return DOWN
  const word = errorOf(answer)
  return (word !== null && Object.hasOwn(MEANINGS, word) ? MEANINGS[word] : undefined) ?? OTHER
}

function errorOf(answer: ProviderAnswer): string | null {
  const parsed = errorAnswer.safeParse(readJson(answer))
  return parsed.success ? parsed.data.error : null
}

function readJson({ content }: ProviderAnswer): unknown {
  try {
    return JSON.parse(content.toString())
  } catch {
    return null
  }
}
