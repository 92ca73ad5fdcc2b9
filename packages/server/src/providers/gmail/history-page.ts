import type { ArrivedStep, FollowOptions, GoneStep, MessageState, PageStep } from '../mail.ts'
import { BATCH_PARTS_MAX } from './api.ts'
import type { GmailCursor } from './cursor.ts'
import { contentsOf, type DraftKeys, listDraftKeys, NO_DRAFT_KEYS } from './draft-keys.ts'
import { bringEditedDrafts } from './edited-drafts.ts'
import { fetchMessages, idsOf, wantMessage } from './fetch.ts'
import type { GmailConnection } from './gmail-connection.ts'
import type { Urgency } from '../google/governor.ts'
import { CHAT, flagsOf, mailboxKeysOf } from './labels.ts'
import { locateMessages } from './locate.ts'
import type { HistoryRecord } from './resources.ts'

/** The change of a message according to the records of a page. */
interface Change {
  id: string
  isNew: boolean
  isDeleted: boolean
  /** Its labels; null if the records lack them, as for a message that has none. */
  labelIds: readonly string[] | null
  /** The id of its last record. */
  recordId: string
}

/** Result of one batch of requests about a page. */
interface Piece extends Pick<ArrivedStep, 'messages' | 'unreadable'> {
  states: readonly MessageState[]
  /** The changes that the states answer. */
  answered: readonly Change[]
  /** The existing drafts, once they were listed. */
  drafts?: DraftKeys
}

const NOTHING: Piece = { messages: [], unreadable: [], states: [], answered: [] }

/**
 * Reads the records of a page into steps, in the order of recording: arrivals, changes, deletions. The quota may not
 * suffice for all requests about a page. So each piece but the last is recorded with the cursor of the page before, and
 * each try comes further.
 */
export async function* readRecords(
  connection: GmailConnection,
  history: readonly HistoryRecord[],
  { before, after }: { before: GmailCursor; after: GmailCursor },
  options: FollowOptions,
): AsyncGenerator<PageStep, void, void> {
  const { recordedStates } = connection
  const changes = foldRecords(history)
  connection.noteTouched(changes.keys())
  const recordPart = function* (piece: Piece): Generator<PageStep, void, void> {
    if (isNothing(piece)) return
    yield { type: 'page', steps: stepsOf(piece), cursor: before }
    const fetched = piece.messages.flatMap(({ key }) => changes.get(String(key)) ?? [])
    for (const { id, recordId } of [...piece.answered, ...fetched]) recordedStates.set(id, recordId)
  }
  const sorted = await sortOut([...changes.values()], options)
  let piece = NOTHING
  let drafts = NO_DRAFT_KEYS
  try {
    for await (const next of askFor(connection, sorted, options)) {
      drafts = next.drafts ?? drafts
      if (isNothing(next)) continue
      yield* recordPart(piece)
      piece = next
    }
  } catch (error) {
    yield* recordPart(piece)
    throw error
  }
  // A record has older labels than a message that was fetched after it.
  const unanswered = sorted.changed.filter(({ id, recordId }) => recordedStates.get(id) !== recordId)
  const fromRecords = unanswered.flatMap(change => stateFromRecord(connection, change))
  const steps = stepsOf({ ...piece, states: [...fromRecords, ...piece.states] })
  const gone: GoneStep = {
    type: 'gone',
    keys: sorted.gone,
    certainty: 'proof',
    drafts: contentsOf(drafts.keys),
  }
  yield { type: 'page', steps: [...steps, gone], cursor: after }
  recordedStates.clear()
}

/** The changes of a page, and the ids of messages that are new or gone. */
interface Sorted {
  added: readonly string[]
  changed: readonly Change[]
  gone: string[]
}

async function sortOut(
  changes: readonly Change[],
  { lacking, skip }: Pick<FollowOptions, 'lacking' | 'skip'>,
): Promise<Sorted> {
  const there = changes.filter(({ isDeleted }) => !isDeleted)
  const gone = changes.filter(({ isDeleted }) => isDeleted).map(({ id }) => id)
  const readable = there.filter(({ id, isNew }) => isNew && !skip.has(id)).map(({ id }) => id)
  const added = readable.length === 0 ? [] : await lacking(readable)
  const isAdded = new Set(added)
  return { added, changed: there.filter(({ id }) => !isAdded.has(id)), gone }
}

/** Requests the facts that records lack: new messages, new contents of drafts, and labels. */
async function* askFor(
  connection: GmailConnection,
  { added, changed, gone }: Sorted,
  options: FollowOptions,
): AsyncGenerator<Piece, void, void> {
  const { recordedStates } = connection
  yield* bringNew(connection, added, options)
  if (gone.length > 0) {
    const drafts = await listDraftKeys(connection.api, { signal: options.signal })
    yield { ...NOTHING, drafts }
    for await (const brought of bringEditedDrafts(connection, drafts, new Set(added), options))
      yield { ...NOTHING, ...brought }
  }
  const unlabelled = changed.filter(
    ({ id, labelIds, recordId }) => labelIds === null && recordedStates.get(id) !== recordId,
  )
  yield* locateUnlabelled(connection, unlabelled, options)
}

/** Fetches messages. Messages outside the window are left out. */
async function* bringNew(
  connection: GmailConnection,
  ids: readonly string[],
  { since, signal }: Pick<FollowOptions, 'since' | 'signal'>,
): AsyncGenerator<Piece, void, void> {
  for (let left = ids; left.length > 0;) {
    const asked = left.slice(0, BATCH_PARTS_MAX)
    const fetched = await fetchMessages(connection, asked.map(wantMessage), {
      signal,
      urgency: urgencyOf(left.length),
      withSources: true,
    })
    const messages = fetched.messages.filter(({ receivedAt }) => since === null || receivedAt >= since)
    yield { ...NOTHING, messages, unreadable: fetched.unreadable }
    if (fetched.throttled) throw fetched.throttled
    left = [...fetched.left.flatMap(idsOf), ...left.slice(asked.length)]
  }
}

/** Looks up the labels of messages of the index. A later record reports the ones that are gone. */
async function* locateUnlabelled(
  connection: GmailConnection,
  unlabelled: readonly Change[],
  { lacking }: Pick<FollowOptions, 'lacking'>,
): AsyncGenerator<Piece, void, void> {
  if (unlabelled.length === 0) return
  const isLacking = new Set(await lacking(unlabelled.map(({ id }) => id)))
  const asked = unlabelled.filter(({ id }) => !isLacking.has(id))
  for (let at = 0; at < asked.length; at += BATCH_PARTS_MAX) {
    const answered = asked.slice(at, at + BATCH_PARTS_MAX)
    const ids = answered.map(({ id }) => id)
    const { found, unreadable } = await locateMessages(connection, ids, urgencyOf(asked.length - at))
    const states = [...found].map(([key, state]) => ({ key, ...state }))
    yield { messages: [], unreadable, states, answered }
  }
}

/** The urgency of requests: a change of many messages at once leaves a part of the quota to others. */
function urgencyOf(left: number): Urgency {
  return left > BATCH_PARTS_MAX ? 'background' : 'prompt'
}

const isNothing = (piece: Piece): boolean =>
  piece.messages.length + piece.unreadable.length + piece.answered.length === 0

function stepsOf({ messages, unreadable, states }: Piece): PageStep['steps'] {
  return [
    { type: 'arrived', origin: 'new', messages, unreadable, remaining: 0 },
    { type: 'states', changes: [...states] },
  ]
}

function stateFromRecord({ ignoredLabels }: GmailConnection, { id, labelIds }: Change): MessageState[] {
  if (labelIds === null || labelIds.includes(CHAT)) return []
  return [{ key: id, flags: flagsOf(labelIds), mailboxKeys: mailboxKeysOf(labelIds, ignoredLabels) }]
}

/** The records of each message as one change: the last ones count. */
export function foldRecords(history: readonly HistoryRecord[]): Map<string, Change> {
  const changes = new Map<string, Change>()
  for (const record of history) {
    const change = (id: string, next: Partial<Change>) => {
      const before = changes.get(id) ?? { id, isNew: false, isDeleted: false, labelIds: null }
      changes.set(id, { ...before, ...next, recordId: record.id })
    }
    for (const { message } of record.messagesAdded)
      change(message.id, { isNew: true, isDeleted: false, labelIds: message.labelIds ?? null })
    for (const { message } of [...record.labelsAdded, ...record.labelsRemoved])
      change(message.id, { labelIds: message.labelIds ?? null })
    for (const { message } of record.messagesDeleted) change(message.id, { isDeleted: true })
  }
  return changes
}
