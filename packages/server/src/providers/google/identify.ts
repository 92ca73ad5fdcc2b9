import { z } from 'zod'
import type { Secret } from '../../kit/secret.ts'
import { ProviderFailure } from '../failure.ts'
import { googleFailure } from './failure.ts'
import type { ProviderAnswer, ProviderCalls } from '../http/provider-calls.ts'
import { readJson } from '../oauth/read-json.ts'
import { HOSTS } from './hosts.ts'
import type { SignedInUser } from './id-token.ts'

const mailbox = z.object({
  emailAddress: z
    .string()
    .max(320)
    .regex(/^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u),
})
const user = z.object({ sub: z.string().min(1).max(255), name: z.string().optional() })
/** Reads the address of the mailbox: the first call with a new access token. */
export async function findAddress(
  calls: ProviderCalls,
  accessToken: Secret,
  signal: AbortSignal,
): Promise<string> {
  const answer = await get(calls, HOSTS.mail, '/gmail/v1/users/me/profile', accessToken, signal)
  if (answer.status !== 200) throw failureOf(answer)
  const parsed = mailbox.safeParse(readJson(answer))
  if (!parsed.success) throw new ProviderFailure('unavailable', 'Gmail does not provide the address now.')
  return parsed.data.emailAddress
}

/** Reads the user who signed in, for a grant that includes `openid`. */
export async function findUser(
  calls: ProviderCalls,
  accessToken: Secret,
  signal: AbortSignal,
): Promise<SignedInUser> {
  const answer = await get(calls, HOSTS.user, '/v1/userinfo', accessToken, signal)
  if (answer.status !== 200) throw failureOf(answer)
  const parsed = user.safeParse(readJson(answer))
  if (!parsed.success)
    throw new ProviderFailure('unavailable', 'Google does not name the user who signed in.')
  return { subject: parsed.data.sub, name: parsed.data.name ?? null }
}

function get(
  calls: ProviderCalls,
  host: string,
  path: string,
  accessToken: Secret,
  signal: AbortSignal,
): Promise<ProviderAnswer> {
  return calls.call({
    host,
    method: 'GET',
    path,
    headers: { authorization: `Bearer ${accessToken.reveal()}`, accept: 'application/json' },
    answerBytesMax: 64 * 1024,
    firstByteSeconds: 15,
    wholeSeconds: 20,
    signal,
  })
}

/** The first call with a new access token: no other can be blamed for a 401. */
function failureOf(answer: ProviderAnswer): ProviderFailure {
  if (answer.status === 401)
    return new ProviderFailure('access_refused', 'Google refuses its new access token.')
  return googleFailure('Gmail', answer, { now: Date.now() })
}
