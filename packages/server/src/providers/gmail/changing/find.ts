import { FOUND_MESSAGES_MAX, type FoundMessage } from '../../changing.ts'
import { BATCH_PARTS_MAX, type GmailApi, segment } from '../api.ts'
import { ALL_MAIL_KEY, flagsOf } from '../labels.ts'
import { type Message, messageSchema, messagesSchema } from '../resources.ts'
import { UNITS } from '../units.ts'
import { locationOf, sortOut } from './messages.ts'

/** Ids that the search can look for; it parts words at spaces and reads quotes and brackets in its own way. */
const SEARCHABLE = /^<[^\s<>"'(){}]{1,900}>$/
const HEADER_FIELDS = 'id,threadId,labelIds,internalDate,payload(headers)'

/** `ChangingProvider.find` on Gmail. */
export async function findByMessageId(
  api: GmailApi,
  mailboxKey: string,
  internetMessageId: string,
  fields: readonly string[],
): Promise<FoundMessage[]> {
  const query = queryOf(internetMessageId)
  if (query === null) return []
  const { messages } = await api.ask({
    path: 'messages',
    query: {
      q: query,
      ...(mailboxKey !== ALL_MAIL_KEY && { labelIds: mailboxKey }),
      includeSpamTrash: mailboxKey !== ALL_MAIL_KEY,
      maxResults: FOUND_MESSAGES_MAX,
    },
    units: UNITS.messagesList,
    schema: messagesSchema,
  })
  const read = await readHeaders(
    api,
    messages.map(({ id }) => id),
  )
  return read
    .filter(message => {
      const id = headerOf(message, 'Message-ID')
      return id === null || id === internetMessageId
    })
    .toSorted((a, b) => Number(b.internalDate ?? 0) - Number(a.internalDate ?? 0))
    .map(message => toFound(message, fields))
}

/** The search for a Message-ID; null for one that the search cannot look for. */
export function queryOf(internetMessageId: string): string | null {
  return SEARCHABLE.test(internetMessageId) ? `rfc822msgid:${internetMessageId.slice(1, -1)}` : null
}

/** The headers of messages, without messages that are gone. */
export async function readHeaders(api: GmailApi, keys: readonly string[]): Promise<Message[]> {
  const read: Message[] = []
  for (let at = 0; at < keys.length; at += BATCH_PARTS_MAX) {
    const batch = keys.slice(at, at + BATCH_PARTS_MAX)
    const outcomes = await api.askAll(
      batch.map(key => ({
        path: `messages/${segment(key)}`,
        query: { format: 'metadata', fields: HEADER_FIELDS },
        units: UNITS.messagesGet,
        schema: messageSchema,
      })),
    )
    const { done, failure } = sortOut(batch, outcomes)
    if (failure) throw failure
    read.push(...done.map(({ value }) => value))
  }
  return read
}

export function toFound(message: Message, fields: readonly string[]): FoundMessage {
  return {
    location: locationOf(message.id),
    flags: flagsOf(message.labelIds),
    revision: null,
    fields: new Map(
      fields.flatMap(name => {
        const value = headerOf(message, name)
        return value === null ? [] : [[name, value] as const]
      }),
    ),
  }
}

/** The first field of this name, unfolded; null if there is none. */
export function headerOf({ payload }: Pick<Message, 'payload'>, name: string): string | null {
  const found = payload?.headers.find(header => header.name.toLowerCase() === name.toLowerCase())
  return found ? found.value.replaceAll(/\r?\n(?=[ \t])/g, '').trim() : null
}
