import type { ArrivedStep, FollowOptions } from '../mail.ts'
import { BATCH_PARTS_MAX, type GmailRequest, segment } from './api.ts'
import { isOfPart } from '../http/ask-twice.ts'
import { askTwice } from './ask-twice.ts'
import type { DraftKeys } from './draft-keys.ts'
import type { GmailConnection } from './gmail-connection.ts'
import { MESSAGE_FIELDS, toRemoteMessage } from './message.ts'
import { type Draft, draftSchema } from './resources.ts'
import { UNITS } from './units.ts'

type Brought = Pick<ArrivedStep, 'messages' | 'unreadable'>

/** A draft and the message that is its content. */
interface DraftRef {
  draftKey: string
  id: string
}

/**
 * New contents of drafts that the index has. An edited draft is a message that is gone, and another one, which the next
 * page of the history may hold. If it is recorded before the former one is gone, the draft stays the same one.
 * @param keys ids of drafts by the id of their message
 * @param brought ids of messages that were fetched already
 */
export async function* bringEditedDrafts(
  connection: GmailConnection,
  { keys }: DraftKeys,
  brought: ReadonlySet<string>,
  options: FollowOptions,
): AsyncGenerator<Brought, void, void> {
  const missing = await findMissing(keys, brought, options)
  for (let at = 0; at < missing.length; at += BATCH_PARTS_MAX)
    yield await fetchDrafts(connection, missing.slice(at, at + BATCH_PARTS_MAX), options)
}

/** Drafts of the index whose content it lacks. Other drafts that it lacks are new, or older than its window. */
async function findMissing(
  keys: DraftKeys['keys'],
  brought: ReadonlySet<string>,
  { lacking, heldDrafts, skip }: FollowOptions,
): Promise<DraftRef[]> {
  const ids = [...keys.keys()].filter(id => !brought.has(id) && !skip.has(id))
  if (ids.length === 0) return []
  const missing = (await lacking(ids)).map(id => ({ id, draftKey: keys.get(id)! }))
  if (missing.length === 0) return []
  const held = new Set(await heldDrafts(missing.map(({ draftKey }) => draftKey)))
  return missing.filter(({ draftKey }) => held.has(draftKey))
}

async function fetchDrafts(
  { api, ignoredLabels }: GmailConnection,
  drafts: readonly DraftRef[],
  { since, signal }: FollowOptions,
): Promise<Brought> {
  const outcomes = await askTwice(
    api,
    drafts.map(({ draftKey }) => requestOfDraft(draftKey)),
    { signal },
  )
  const brought: Brought = { messages: [], unreadable: [] }
  for (const [index, { value, failure }] of outcomes.entries()) {
    if (value) {
      const draftKeys = new Map([[value.message.id, value.id]])
      const message = toRemoteMessage(value.message, { ignoredLabels, draftKeys })
      if (since === null || message.receivedAt >= since) brought.messages.push(message)
    } else if (!isOfPart(failure)) throw failure
    else if (failure.kind !== 'not_found')
      brought.unreadable.push({ key: drafts[index]!.id, reason: failure.message })
  }
  return brought
}

/** A request by the key of the draft, since its content may be another message by now. */
function requestOfDraft(draftKey: string): GmailRequest<Draft> {
  return {
    path: `drafts/${segment(draftKey)}`,
    query: { format: 'full', fields: `id,message(${MESSAGE_FIELDS})` },
    units: UNITS.draftsGet,
    schema: draftSchema,
  }
}
