import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Secret } from '../../kit/secret.ts'
import { type FailureKind, ProviderFailure } from '../failure.ts'
import type { ProviderAnswer, ProviderCalls } from '../http/provider-calls.ts'
import { retryAfterSeconds } from '../http/retry-after.ts'
import { readJson } from '../oauth/read-json.ts'
import { serverText } from '../server-text.ts'
import type { CloudRow } from './clouds.ts'

const EMAIL = /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u

const profile = z.object({
  id: z.string().min(1).max(255),
  displayName: z.string().nullish(),
  mail: z.string().max(320).nullish(),
  userPrincipalName: z.string().max(320).nullish(),
})
const folder = z.object({ id: z.string().min(1) })
const errorAnswer = z.object({ error: z.object({ code: z.string(), message: z.string().optional() }) })

export interface Profile {
  email: string
  name: string | null
  inboxId: string
}

/**
 * Reads the profile of the user who signed in, and whether there is a mailbox: a user of a directory need not have one.
 * @param mailboxId the id of the user in Graph; `rejected` if Graph names another one
 */
export async function identify(
  calls: ProviderCalls,
  row: CloudRow,
  { accessToken, mailboxId }: { accessToken: Secret; mailboxId: string },
  signal: AbortSignal,
): Promise<Profile> {
  const get = (path: string) => ask(calls, row, { path, accessToken }, signal)
  const { data } = profile.safeParse(await get('/v1.0/me?$select=id,displayName,mail,userPrincipalName'))
  const email = [data?.mail, data?.userPrincipalName].find(address => EMAIL.test(address ?? ''))
  if (!data || !email)
    throw new ProviderFailure('unavailable', 'Microsoft does not name the user who signed in.')
  if (data.id.toLowerCase() !== mailboxId)
    throw new ProviderFailure('rejected', 'Microsoft names two users for one sign-in.')
  const inbox = folder.safeParse(await get(`/v1.0/users/${mailboxId}/mailFolders/inbox?$select=id`)).data
  if (!inbox) throw new ProviderFailure('unavailable', 'Microsoft does not show the mailbox now.')
  return { email, name: data.displayName ?? null, inboxId: inbox.id }
}

async function ask(
  calls: ProviderCalls,
  { graph }: CloudRow,
  { path, accessToken }: { path: string; accessToken: Secret },
  signal: AbortSignal,
): Promise<unknown> {
  const answer = await calls.call({
    host: graph,
    method: 'GET',
    path,
    headers: {
      authorization: `Bearer ${accessToken.reveal()}`,
      accept: 'application/json',
      prefer: 'IdType="ImmutableId"',
      'client-request-id': randomUUID(),
    },
    answerBytesMax: 64 * 1024,
    firstByteSeconds: 15,
    wholeSeconds: 20,
    signal,
  })
  if (answer.status !== 200) throw failureOf(answer)
  return readJson(answer)
}

/** The first calls with a new access token: no other can be blamed for a 401. */
function failureOf(answer: ProviderAnswer): ProviderFailure {
  const { status, headers } = answer
  const { data } = errorAnswer.safeParse(readJson(answer))
  const kind = kindOf(status, data?.error.code ?? '')
  const seconds = retryAfterSeconds(headers, Date.now())
  const text = serverText(data?.error.message)
  return new ProviderFailure(kind, `Microsoft Graph answered ${status}${text === '' ? '' : `: ${text}`}`, {
    ...(kind === 'mailbox_gone' && { reason: 'provider_forbidden' as const }),
    ...(seconds !== null && { retryAfterSeconds: seconds }),
  })
}

/** learn.microsoft.com/graph/errors */
function kindOf(status: number, code: string): FailureKind {
  if (status === 429) return 'throttled'
  if (status === 401) return 'access_refused'
  if (status === 403) return code === 'Authorization_RequestDenied' ? 'scope_missing' : 'mailbox_gone'
  // MailboxNotEnabledForRESTAPI, and a user who is not in the directory any more.
  if (status === 404) return 'mailbox_gone'
  if (status >= 400 && status < 500 && status !== 408) return 'rejected'
  return 'unavailable'
}
