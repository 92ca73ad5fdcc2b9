import { ProviderFailure } from '../failure.ts'
import type { RemoteMessage, UnreadableMessage } from '../mail.ts'
import {
  type AskOptions,
  BATCH_PARTS_MAX,
  type GmailApi,
  type GmailRequest,
  type PartOutcome,
  segment,
} from './api.ts'
import { writeQuery } from '../google/query.ts'
import { isOfPart } from '../http/ask-twice.ts'
import { askTwice } from './ask-twice.ts'
import { type DraftKeys, listDraftKeys, NO_DRAFT_KEYS } from './draft-keys.ts'
import type { GmailConnection } from './gmail-connection.ts'
import { CHAT, DRAFT } from './labels.ts'
import { locateMessages } from './locate.ts'
import { MESSAGE_FIELDS, RAW_FIELDS, toRemoteMessage, toRemoteSource } from './message.ts'
import { type Message, messageSchema, type RawMessage, rawMessageSchema, threadSchema } from './resources.ts'
import { UNITS } from './units.ts'

/** Headers may be long, and there are 1,000 parts at most. */
const MESSAGE_BYTES_MAX = 4 * 1024 * 1024
/** The sources of a batch are in memory together. */
const SOURCES_AT_ONCE = 10
const SOURCES_BYTES_MAX = 16 * 1024 * 1024
const THREAD_BYTES_MAX = 32 * 1024 * 1024

/** A message or thread that is fetched with one part of a batch. */
export type Wanted = { type: 'message'; id: string } | { type: 'thread'; id: string; ids: readonly string[] }

export interface Fetched {
  messages: RemoteMessage[]
  /** Ids that the provider does not have. */
  gone: string[]
  unreadable: UnreadableMessage[]
  /**
   * To be requested again: a batch has no room for it, the provider is throttling, or a message is no longer in its
   * thread.
   */
  left: Wanted[]
  /** Null if the provider is not throttling. */
  throttled: ProviderFailure | null
}

export const wantMessage = (id: string): Wanted => ({ type: 'message', id })
export const idsOf = (wanted: Wanted): readonly string[] =>
  wanted.type === 'message' ? [wanted.id] : wanted.ids
export const unitsOf = ({ type }: Wanted): number =>
  type === 'message' ? UNITS.messagesGet : UNITS.threadsGet

export interface FetchOptions extends AskOptions {
  /** Whether sources are taken along, if the account keeps them. */
  withSources?: boolean
}

/**
 * Fetches messages whole, as the index shows them, with one batch, which takes as many as the quota has room for. Chats
 * are left out as if they were gone. Throws failures that no message causes, such as a refused token.
 */
export async function fetchMessages(
  connection: GmailConnection,
  wanted: readonly Wanted[],
  options: FetchOptions,
): Promise<Fetched> {
  if (wanted.length > BATCH_PARTS_MAX) throw new Error(`More than ${BATCH_PARTS_MAX} parts`)
  const count = countFitting(connection.api, wanted)
  const asked = wanted.slice(0, count)
  const fetched: Fetched = {
    messages: [],
    gone: [],
    unreadable: [],
    left: wanted.slice(count),
    throttled: null,
  }
  const found: Array<Message | RawMessage> = []
  const outcomes = await askForMessages(connection, asked, options)
  for (const [index, { value, failure }] of outcomes.entries()) {
    const one = asked[index]!
    if (failure === null) {
      const known = new Map(value.map(message => [message.id, message]))
      for (const id of idsOf(one)) {
        const message = known.get(id)
        if (message && !message.labelIds.includes(CHAT)) found.push(message)
        else if (message) fetched.gone.push(id)
        else if (one.type === 'thread') fetched.left.push(wantMessage(id))
        else fetched.unreadable.push({ key: id, reason: 'Gmail answered with another message' })
      }
    } else if (failure.kind === 'not_found') fetched.gone.push(...idsOf(one))
    else if (failure.kind === 'throttled') {
      fetched.left.push(one)
      fetched.throttled = failure
    } else if (!isOfPart(failure)) throw failure
    else fetched.unreadable.push(...idsOf(one).map(key => ({ key, reason: failure.message })))
  }
  await addFound(connection, fetched, found, options)
  return fetched
}

/** Adds found messages; drafts only if the quota suffices for the requests about them. */
async function addFound(
  connection: GmailConnection,
  fetched: Fetched,
  found: ReadonlyArray<Message | RawMessage>,
  options: AskOptions,
): Promise<void> {
  let drafts = NO_DRAFTS
  try {
    // Once something was refused, the list of drafts would be, too.
    if (!fetched.throttled) drafts = await askAboutDrafts(connection, found, options)
  } catch (error) {
    if (!(error instanceof ProviderFailure) || error.kind !== 'throttled') throw error
    fetched.throttled = error
  }
  const labelling = { ignoredLabels: connection.ignoredLabels, draftKeys: drafts.keys }
  for (const message of found) {
    if (fetched.throttled && isDraft(message)) fetched.left.push(wantMessage(message.id))
    else if (drafts.outdated.has(message.id)) fetched.gone.push(message.id)
    else if ('raw' in message) fetched.messages.push(toRemoteSource(message, labelling))
    else fetched.messages.push(toRemoteMessage(message, labelling))
  }
}

const isDraft = ({ labelIds }: Pick<Message, 'labelIds'>) => labelIds.includes(DRAFT)

/** The number of the first ones, at least one, that fit into a batch. */
function countFitting({ batchUnitsMax }: GmailApi, wanted: readonly Wanted[]): number {
  let units = 0
  const end = wanted.findIndex(one => (units += unitsOf(one)) > batchUnitsMax)
  return end < 0 ? wanted.length : Math.max(1, end)
}

interface AboutDrafts {
  keys: DraftKeys['keys']
  /** Ids of messages that a newer content of their draft has replaced. */
  outdated: ReadonlySet<unknown>
}

const NO_DRAFTS: AboutDrafts = { keys: NO_DRAFT_KEYS.keys, outdated: new Set() }

async function askAboutDrafts(
  connection: GmailConnection,
  found: ReadonlyArray<Message | RawMessage>,
  options: AskOptions,
): Promise<AboutDrafts> {
  if (!found.some(isDraft)) return NO_DRAFTS
  const drafts = await listDraftKeys(connection.api, options)
  return { keys: drafts.keys, outdated: await findOutdated(connection, found, drafts, options) }
}

/**
 * Contents of drafts that were replaced since they were fetched, as by clients that save while a person types: no draft
 * has them any more. The list of drafts may be behind, so it is not believed alone.
 */
async function findOutdated(
  connection: GmailConnection,
  found: ReadonlyArray<Message | RawMessage>,
  { keys, isComplete }: DraftKeys,
  { urgency }: AskOptions,
): Promise<ReadonlySet<unknown>> {
  const unlisted = found.filter(message => isDraft(message) && !keys.has(message.id)).map(({ id }) => id)
  if (unlisted.length === 0 || !isComplete) return new Set()
  return new Set((await locateMessages(connection, unlisted, urgency)).gone)
}

/** With their sources, if these are wanted and together not too large to be in memory. */
async function askForMessages(
  connection: GmailConnection,
  wanted: readonly Wanted[],
  options: FetchOptions,
): Promise<Array<PartOutcome<Array<Message | RawMessage>>>> {
  const isWithSources = options.withSources === true && connection.takesSources
  const { api } = connection
  if (!isWithSources) return askTwice(api, wanted.map(requestOf(false)), options)
  const outcomes: Array<PartOutcome<Array<Message | RawMessage>>> = []
  for (let at = 0; at < wanted.length; at += SOURCES_AT_ONCE) {
    const some = wanted.slice(at, at + SOURCES_AT_ONCE)
    const withSources = { ...options, answerBytesMax: SOURCES_BYTES_MAX }
    const asked = await api.askAll(some.map(requestOf(true)), withSources).catch(error => {
      if (error instanceof ProviderFailure && error.kind === 'unavailable') return null
      throw error
    })
    // A source that is too large for this is stored later, in pieces.
    const isAnswered = asked?.every(({ failure }) => failure?.kind !== 'unavailable')
    outcomes.push(...(asked && isAnswered ? asked : await askTwice(api, some.map(requestOf(false)), options)))
  }
  return outcomes
}

/** Made once, since each message is fetched by a request of its own. */
const MESSAGE = {
  query: writeQuery({ format: 'full', fields: MESSAGE_FIELDS }),
  schema: messageSchema.transform(message => [message]),
  answerBytesMax: MESSAGE_BYTES_MAX,
}
const SOURCE = {
  query: writeQuery({ format: 'raw', fields: RAW_FIELDS }),
  schema: rawMessageSchema.transform(message => [message]),
  answerBytesMax: SOURCES_BYTES_MAX,
}
const THREAD = {
  query: writeQuery({ format: 'full', fields: `id,messages(${MESSAGE_FIELDS})` }),
  schema: threadSchema.transform(({ messages }) => messages),
  answerBytesMax: THREAD_BYTES_MAX,
}

function requestOf(isWithSource: boolean) {
  return (wanted: Wanted): GmailRequest<Array<Message | RawMessage>> => {
    const id = segment(wanted.id)
    if (wanted.type === 'thread') return { path: `threads/${id}`, units: UNITS.threadsGet, ...THREAD }
    const message = { path: `messages/${id}`, units: UNITS.messagesGet }
    return isWithSource ? { ...message, ...SOURCE } : { ...message, ...MESSAGE }
  }
}
