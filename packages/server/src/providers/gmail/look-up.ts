import type { HandedOver, LookUp } from '../sending.ts'
import type { GmailApi } from './api.ts'
import { headerOf, queryOf, readHeaders } from './changing/find.ts'
import { type Message, messagesSchema } from './resources.ts'
import { UNITS } from './units.ts'

/** The field of each message that names its send. */
const OUTBOX_FIELD = 'X-Waxwing-Outbox'
/** The clock of Gmail may be behind ours by this much. */
const CLOCK_SECONDS_MAX = 900
/** Sent messages whose headers are read. If there are more, there is no proof that the message is not among them. */
const SCANNED_MAX = 200
const IDS_PER_PAGE = 500

/**
 * Finds out whether a handed-over message was accepted. Gmail files the copy in the same step in which it accepts a
 * message, so a message that is not listed among the mail sent since then was not accepted. It is looked for by its
 * Message-ID first, which Gmail may have replaced, and then by our field in all of them.
 */
export async function lookUp(api: GmailApi, message: HandedOver): Promise<LookUp> {
  const query = queryOf(message.internetMessageId)
  if (query !== null) {
    const found = await scan(api, { q: query, includeSpamTrash: true }, message)
    if (found.outcome === 'accepted') return found
  }
  const since = Math.floor(message.handedOverAt.getTime() / 1000) - CLOCK_SECONDS_MAX
  return scan(api, { q: `after:${since}`, labelIds: 'SENT', includeSpamTrash: true }, message)
}

/** Looks for the message among the results of a search. */
async function scan(
  api: GmailApi,
  query: Readonly<Record<string, string | boolean>>,
  { outboxId }: HandedOver,
): Promise<LookUp> {
  let scanned = 0
  let pageToken: string | undefined
  do {
    const page = await api.ask({
      path: 'messages',
      query: { ...query, maxResults: IDS_PER_PAGE, pageToken },
      units: UNITS.messagesList,
      schema: messagesSchema,
    })
    const keys = page.messages.map(({ id }) => id).slice(0, SCANNED_MAX - scanned)
    const copy = (await readHeaders(api, keys)).find(header => isCopy(header, outboxId))
    if (copy) return { outcome: 'accepted', key: copy.id }
    scanned += keys.length
    if (keys.length < page.messages.length) return { outcome: 'not_known' }
    pageToken = page.nextPageToken
  } while (pageToken !== undefined)
  return { outcome: 'absent' }
}

/**
 * Whether a message is the copy. A draft with our header is not sent yet, and a reply from outside may quote our field.
 */
function isCopy(message: Message, outboxId: string): boolean {
  return message.labelIds.includes('SENT') && headerOf(message, OUTBOX_FIELD) === outboxId
}
