import { z } from 'zod'
import { type Mailbox, nextNumber } from '../mailbox/mailbox.ts'
import { badRequest, syncStateNotFound } from './errors.ts'
import type { MethodCall } from './method.ts'
import type { Preferences } from './prefer.ts'
import type { Query } from './odata/query.ts'

/** State of a delta query, which its links carry. It is opaque to clients. */
const StateSchema = z.strictObject({
  /** Object of the query: the id of a folder, or the folders of the mailbox. */
  of: z.string(),
  /** Options with which the query began, which hold for all of its rounds. */
  select: z.string().nullable(),
  expand: z.string().nullable(),
  filter: z.string().nullable(),
  changeType: z.string().nullable(),
  /** The time of a calendar view, in milliseconds since 1970; null for other queries. */
  window: z.strictObject({ from: z.int(), to: z.int() }).nullable(),
  immutable: z.boolean(),
  /** The change after which the next round begins. */
  since: z.int().min(0),
  /**
   * The item that the first round, which goes through all items, reported last; null in later rounds. Queries of events
   * keep here the bounds of a round, from one change to another, and the number of items reported.
   */
  walk: z.strictObject({ at: z.int(), number: z.int(), told: z.int() }).nullable(),
  /** Number of the query in its mailbox. */
  query: z.int(),
  /** Counts the links of the query. */
  generation: z.int(),
  /** Number of the link in its mailbox. */
  made: z.int(),
})

export type DeltaState = z.output<typeof StateSchema>

/** Options of a query that begins or goes on. */
export type DeltaStart = Omit<DeltaState, 'since' | 'walk' | 'query' | 'generation' | 'made'>

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
  const generation = state.generation + 1
  const text = JSON.stringify({ ...state, generation, made: nextNumber(mailbox) })
  noteGeneration(mailbox, state.query, generation)
  link.searchParams.set(kind === 'next' ? '$skiptoken' : '$deltatoken', sealed(text))
  return { [`@odata.${kind}Link`]: link.href }
}

/** A mailbox forgets its oldest queries beyond this number: their links work until they are made to expire. */
const QUERIES_MAX = 10_000

function noteGeneration({ generations }: Mailbox, query: number, generation: number): void {
  const highest = Math.max(generation, generations.get(query) ?? 0)
  generations.delete(query)
  generations.set(query, highest)
  const [oldest] = generations.keys()
  if (generations.size > QUERIES_MAX && oldest !== undefined) generations.delete(oldest)
}

/** The options with which a query begins. */
const startOf = (
  { options, parameters }: Query,
  { of, window }: Pick<DeltaStart, 'of' | 'window'>,
  prefer: Preferences,
): DeltaStart => ({
  of,
  window,
  select: options.get('select') ?? null,
  expand: options.get('expand') ?? null,
  filter: options.get('filter') ?? null,
  changeType: parameters.get('changetype') ?? null,
  immutable: prefer.immutableIds,
})

/**
 * The state that a link carries, or that of a query that begins. Refuses a link that is of another query, that was
 * changed, or has expired: on demand, or because there are as many newer ones as are kept.
 */
export function stateOf(
  { mailbox, graph, query, prefer }: Pick<MethodCall, 'mailbox' | 'graph' | 'query' | 'prefer'>,
  of: string,
  window: DeltaState['window'] = null,
): Omit<DeltaState, 'made'> {
  const start = startOf(query, { of, window }, prefer)
  const kind = query.options.has('skiptoken') ? 'next' : 'delta'
  const token = query.options.get(kind === 'next' ? 'skiptoken' : 'deltatoken')
  if (token === undefined) {
    const walk = { at: Number.MAX_SAFE_INTEGER, number: Number.MAX_SAFE_INTEGER, told: 0 }
    return { ...start, since: mailbox.lastChange, walk, query: nextNumber(mailbox), generation: 0 }
  }
  const state = unsealed(token)
  if (state === null || isOther(state, start))
    throw badRequest('The sync state is invalid: it is not one of this request.', 'ErrorInvalidSyncStateData')
  const kept = graph.settings.generationsKept
  const isOld = kept !== null && state.generation <= highestOf(mailbox, state) - kept
  // A link from before a reset names changes that this mailbox has never had.
  const isForeign = state.since > mailbox.lastChange
  if (isOld || isForeign || state.made <= mailbox.expiredLinks[kind]) throw gone(mailbox, state)
  return state
}

const isOther = (state: DeltaState, start: DeltaStart): boolean =>
  state.of !== start.of ||
  state.immutable !== start.immutable ||
  (['select', 'expand', 'filter', 'changeType'] as const).some(
    name => start[name] !== null && start[name] !== state[name],
  )

const highestOf = (mailbox: Mailbox, { query, generation }: Omit<DeltaState, 'made'>): number =>
  mailbox.generations.get(query) ?? generation

/** The refusal of a link that has expired. */
export const gone = (mailbox: Mailbox, state: Omit<DeltaState, 'made'>): Error =>
  syncStateNotFound(state.generation, highestOf(mailbox, state))

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
