import { z } from 'zod'
import { findNamedZone } from '../../../kit/zones/named-zone.ts'
import { type FailureKind, ProviderFailure } from '../../failure.ts'
import type { AskOptions, GraphRequest } from '../api.ts'
import type { CalendarsConnection } from './calendars-connection.ts'

/** The zone is asked for again after this time. */
const KEPT_MS_MAX = 3_600_000

/** Refusals of a grant that does not have `MailboxSettings.Read`, and of mailboxes of others, for which there is none. */
const REFUSALS: ReadonlySet<FailureKind> = new Set([
  'forbidden',
  'scope_missing',
  'not_found',
  'rejected',
  'unsupported',
])

/** learn.microsoft.com/graph/api/user-get-mailboxsettings */
const REQUEST: GraphRequest<{ value?: string | null | undefined }> = {
  path: 'mailboxSettings/timeZone',
  schema: z.object({ value: z.string().max(255).nullish().catch(null) }),
  accepts: [200],
}

/** The IANA name of the zone of the mailbox, in which whole days lie; null if it is not known. */
export async function findMailboxZone(
  connection: CalendarsConnection,
  options: AskOptions,
): Promise<string | null> {
  const { api, zone: kept } = connection
  const now = api.now()
  if (kept && now >= kept.askedAt && now - kept.askedAt < KEPT_MS_MAX) return kept.name
  const name = await askZone(connection, options)
  connection.zone = { name, askedAt: now }
  return name
}

async function askZone({ api }: CalendarsConnection, options: AskOptions): Promise<string | null> {
  try {
    const { value } = await api.ask(REQUEST, options)
    return findNamedZone(value.value ?? '')
  } catch (error) {
    if (error instanceof ProviderFailure && REFUSALS.has(error.kind)) return null
    throw error
  }
}
