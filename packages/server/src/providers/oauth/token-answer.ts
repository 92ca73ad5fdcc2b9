import { z } from 'zod'
import { Secret } from '../../kit/secret.ts'
import { type FailureKind, type FailureReason, ProviderFailure } from '../failure.ts'
import type { ProviderAnswer, ProviderCalls } from '../http/provider-calls.ts'
import { retryAfterSeconds } from '../http/retry-after.ts'
import type { Tokens } from '../sign-in.ts'
import { readJson } from './read-json.ts'

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

/** An answer of a token endpoint (RFC 6749 section 5.1). */
export interface TokenAnswer extends Tokens {
  /** Null if the answer has none. */
  scopes: string[] | null
  idToken: string | null
}

/** Posts a form, as OAuth's endpoints take it. */
export function postForm(
  calls: ProviderCalls,
  place: { host: string; path: string },
  form: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<ProviderAnswer> {
  return calls.call({
    ...place,
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    body: new URLSearchParams(form).toString(),
    signal,
    ...SECONDS,
  })
}

/** Reads a successful answer. @throws `unavailable` if it has no token */
export function readTokens(
  answer: ProviderAnswer,
  { provider, parseScopes }: { provider: string; parseScopes: (text: string) => string[] },
): TokenAnswer {
  const parsed = tokenAnswer.safeParse(readJson(answer))
  if (!parsed.success) throw new ProviderFailure('unavailable', `${provider} answered with no token.`)
  const { access_token, expires_in, refresh_token, scope, id_token } = parsed.data
  return {
    accessToken: new Secret(access_token),
    expiresInSeconds: expires_in,
    refreshToken: refresh_token === undefined ? null : new Secret(refresh_token),
    scopes: scope === undefined ? null : parseScopes(scope),
    idToken: id_token ?? null,
  }
}

export function tokensOf({ accessToken, expiresInSeconds, refreshToken }: TokenAnswer): Tokens {
  return { accessToken, expiresInSeconds, refreshToken }
}

/** The meaning of an error of a token endpoint. */
export interface Meaning {
  kind: FailureKind
  reason?: FailureReason
  message: string
}

/**
 * The failure for an answer that is not a success.
 * @param find the meaning of an explicit error, which comes with a status below 500; undefined if it is unknown
 */
export function tokenFailure(
  answer: ProviderAnswer,
  provider: string,
  find: (answer: ProviderAnswer) => Meaning | undefined,
): ProviderFailure {
  const { kind, reason, message } = meaningOf(answer, provider, find)
  const pause = retryAfterSeconds(answer.headers, Date.now())
  return new ProviderFailure(kind, message, {
    ...(reason && { reason }),
    ...(pause !== null && { retryAfterSeconds: pause }),
  })
}

export const busy = (provider: string): Meaning => ({
  kind: 'throttled',
  message: `${provider} limits requests for tokens.`,
})
export const down = (provider: string): Meaning => ({
  kind: 'unavailable',
  message: `${provider} cannot issue tokens now.`,
})

/** Only an explicit refusal ends a grant: a proxy, or an overloaded server, may answer with any status. */
function meaningOf(
  answer: ProviderAnswer,
  provider: string,
  find: (answer: ProviderAnswer) => Meaning | undefined,
): Meaning {
  const { status } = answer
  if (status === 429) return busy(provider)
  if (status >= 500 || status < 400 || status === 408) return down(provider)
  return find(answer) ?? { kind: 'rejected', message: `${provider} refuses to issue a token.` }
}
