import { z } from 'zod'
import { type Mailbox, nextNumber } from '../mailbox/mailbox.ts'
import { badRequest, syncStateNotFound } from './errors.ts'
import type { Preferences } from './prefer.ts'
import type { Query } from './odata/query.ts'

/** State of a delta query, which its links carry. Clients may not look into it. */
const StateSchema = z.strictObject({
  /** What the query follows: the id of a folder, or the folders of the mailbox. */
  of: z.string(),
  /** Options with which the query began, which hold for all of its rounds. */
  select: z.string().nullable(),
  expand: z.string().nullable(),
  filter: z.string().nullable(),
  changeType: z.string().nullable(),
  immutable: z.boolean(),
  /** The change after which the next round begins. */
  since: z.int().min(0),
  /** The item that was told last in the first round, which goes through all of them; null in later rounds. */
  walk: z.strictObject({ at: z.int(), number: z.int(), told: z.int() }).nullable(),
  /** Number of the link in its mailbox. */
  made: z.int(),
})

export type DeltaState = z.output<typeof StateSchema>

/** What a client gives to begin a query, or to go on. */
export type DeltaStart = Omit<DeltaState, 'since' | 'walk' | 'made'>

/** Makes the links of a mailbox too old: those within a round, those between two, or both. */
export function expireLinks(mailbox: Mailbox, at: 'next' | 'delta' | null): void {
  const { expiredLinks } = mailbox
  const now = nextNumber(mailbox)
  if (at !== 'delta') expiredLinks.next = now
  if (at !== 'next') expiredLinks.delta = now
}

/** The absolute link at which a query goes on: within its round, or with the next one. */
export function deltaLink(
  mailbox: Mailbox,
  url: URL,
  kind: 'next' | 'delta',
  state: Omit<DeltaState, 'made'>,
): Record<string, string> {
  const link = new URL(url.origin + url.pathname)
  const text = JSON.stringify({ ...state, made: nextNumber(mailbox) })
  link.searchParams.set(kind === 'next' ? '$skiptoken' : '$deltatoken', sealed(text))
  return { [`@odata.${kind}Link`]: link.href }
}

/** What a query begins with. */
export const startOf = ({ options, parameters }: Query, of: string, prefer: Preferences): DeltaStart => ({
  of,
  select: options.get('select') ?? null,
  expand: options.get('expand') ?? null,
  filter: options.get('filter') ?? null,
  changeType: parameters.get('changetype') ?? null,
  immutable: prefer.immutableIds,
})

/**
 * The state that a link carries; null if the query begins. Refuses a link that is of another query, that was changed,
 * or has expired.
 */
export function stateOf(mailbox: Mailbox, url: URL, query: Query, start: DeltaStart): DeltaState | null {
  const kind = query.options.has('skiptoken') ? 'next' : 'delta'
  const token = query.options.get(kind === 'next' ? 'skiptoken' : 'deltatoken')
  if (token === undefined) return null
  const state = unsealed(token)
  const isOther =
    state === null ||
    state.of !== start.of ||
    state.immutable !== start.immutable ||
    (['select', 'expand', 'filter', 'changeType'] as const).some(
      name => start[name] !== null && start[name] !== state[name],
    )
  if (isOther)
    throw badRequest('The sync state is invalid: it is not one of this request.', 'ErrorInvalidSyncStateData')
  if (state.made <= mailbox.expiredLinks[kind]) throw gone(url, state)
  return state
}

/** The refusal of a link that has expired, with the address at which the query begins again. */
export function gone(url: URL, { select, filter }: Pick<DeltaState, 'select' | 'filter'>): Error {
  const fresh = new URL(url.origin + url.pathname)
  if (select !== null) fresh.searchParams.set('$select', select)
  if (filter !== null) fresh.searchParams.set('$filter', filter)
  return syncStateNotFound(fresh.href)
}

const SEAL_LENGTH = 8

function sealed(text: string): string {
  const body = Buffer.from(text).toString('base64url')
  return checksum(body) + reversed(body)
}

function unsealed(token: string): DeltaState | null {
  const body = reversed(token.slice(SEAL_LENGTH))
  if (checksum(body) !== token.slice(0, SEAL_LENGTH)) return null
  // The sum shows that the sandbox wrote it.
  return StateSchema.parse(JSON.parse(Buffer.from(body, 'base64url').toString('utf8')))
}

const reversed = (text: string): string => Array.from(text).toReversed().join('')

/** FNV-1a, which only finds links that were cut or changed. */
function checksum(text: string): string {
  let value = 0x811c9dc5
  for (const letter of text) value = Math.imul(value ^ (letter.codePointAt(0) ?? 0), 0x01000193)
  return (value >>> 0).toString(16).padStart(SEAL_LENGTH, '0')
}
