import { ProviderFailure } from '../failure.ts'
import type { HandedOver, LookUp } from '../sending.ts'
import type { GraphApi } from './api.ts'
import { HEADER_QUERY, headerOf, headersSchema, messagesWithId, unlessGone } from './changing/find.ts'
import { pathOf } from './changing/messages.ts'
import type { GraphConnection } from './graph-connection.ts'
import { type GraphMessage, stateSchema } from './resources.ts'

/** The field of each message that names its send. */
const OUTBOX_FIELD = 'X-Waxwing-Outbox'
const SENT = 'sentitems'
/** The request to send is answered, or broken off, within this time. Until then a draft may still be on its way. */
const UNDER_WAY_SECONDS = 180
/** The clock of Exchange may be behind ours by this much. */
const CLOCK_SECONDS_MAX = 900
/** Sent messages whose headers are read. */
const SCANNED_MAX = 200
const PER_PAGE = 50
const PAGE_BYTES_MAX = 16 * 1024 * 1024

/**
 * Finds out whether a handed-over message was accepted. Its id stays while the draft becomes the copy in sent mail: a
 * draft that is still one was not sent. That there is no such message proves nothing: a rule or a person may have moved
 * or deleted the copy, it may come late, and Exchange may file it in the mailbox of the delegate.
 */
export async function lookUp({ api, delegate }: GraphConnection, message: HandedOver): Promise<LookUp> {
  const { trace, internetMessageId, handedOverAt } = message
  const draft = trace === null ? null : await readState(api, trace)
  if (draft?.isDraft === false) return { outcome: 'accepted', key: draft.id }
  if (draft?.isDraft === true) {
    const isOver = api.now() - handedOverAt.getTime() > UNDER_WAY_SECONDS * 1_000
    return { outcome: isOver ? 'not_accepted' : 'not_known' }
  }
  const copy =
    (await sentWithId(api, internetMessageId)) ?? (await sentSince(api, message.outboxId, handedOverAt))
  if (copy) return { outcome: 'accepted', key: copy.id }
  // The index of this mailbox has no such key.
  if (delegate && (await sentWithId(delegate, internetMessageId))) return { outcome: 'accepted', key: null }
  return { outcome: 'not_known' }
}

async function readState(api: GraphApi, id: string) {
  const request = { path: pathOf(id), query: { $select: 'id,isDraft' }, schema: stateSchema, accepts: [200] }
  return (await unlessGone(api.ask(request)))?.value ?? null
}

/** The sent copy with a Message-ID. */
export async function sentWithId(api: GraphApi, internetMessageId: string): Promise<GraphMessage | null> {
  const found = await messagesWithId(api, SENT, internetMessageId)
  return found.find(({ isDraft }) => isDraft !== true) ?? null
}

/** The copy by our field, which stays where Exchange has given the message another Message-ID. */
async function sentSince(api: GraphApi, outboxId: string, handedOverAt: Date): Promise<GraphMessage | null> {
  const since = new Date(handedOverAt.getTime() - CLOCK_SECONDS_MAX * 1_000).toISOString()
  let { value: page } = await api.ask({
    path: `mailFolders/${SENT}/messages`,
    query: {
      $filter: `sentDateTime ge ${since}`,
      $orderby: 'sentDateTime desc',
      $top: PER_PAGE,
      ...HEADER_QUERY,
    },
    schema: headersSchema,
    accepts: [200],
    answerBytesMax: PAGE_BYTES_MAX,
  })
  for (let scanned = 0; ;) {
    const copy = page.value.find(
      message => message.isDraft !== true && headerOf(message, OUTBOX_FIELD) === outboxId,
    )
    // A page may be empty and lead to another one.
    scanned += Math.max(1, page.value.length)
    const next = page['@odata.nextLink']
    if (copy || next === undefined || scanned >= SCANNED_MAX) return copy ?? null
    page = await api.follow(next, headersSchema)
  }
}

/** The earlier attempts to send a message, as the mailbox shows them. */
export interface Earlier {
  /** Ids of drafts that were prepared, and never sent. */
  drafts: string[]
  /** The message that was sent after all. */
  sent: string | null
}

export async function findEarlier(api: GraphApi, internetMessageId: string): Promise<Earlier> {
  const found = await messagesWithId(api, null, internetMessageId)
  return {
    drafts: found.flatMap(({ id, isDraft }) => (isDraft === true ? [id] : [])),
    sent: found.find(({ isDraft }) => isDraft === false)?.id ?? null,
  }
}

/** Whether the provider refuses this message, and not the account. */
export function isOfMessage(error: unknown): error is ProviderFailure {
  return (
    error instanceof ProviderFailure &&
    (error.kind === 'rejected' || error.kind === 'forbidden' || error.kind === 'unsupported')
  )
}
