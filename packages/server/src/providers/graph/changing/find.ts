import { z } from 'zod'
import { FOUND_MESSAGES_MAX, type FoundMessage } from '../../changing.ts'
import { ProviderFailure } from '../../failure.ts'
import { type GraphApi, segment } from '../api.ts'
import { flagsOf, STATE_FIELDS } from '../message.ts'
import { type GraphMessage, messageSchema, pageSchema } from '../resources.ts'
import { locationOf } from './messages.ts'

const FOUND_BYTES_MAX = 16 * 1024 * 1024
const HEADER_FIELDS = `${STATE_FIELDS},createdDateTime,internetMessageId,internetMessageHeaders`
/** Our own fields as Exchange keeps them as properties, also of messages whose header it does not show. */
const OWN_FIELDS = ['X-Waxwing-Draft', 'X-Waxwing-Outbox', 'X-Waxwing-Files']
const PUBLIC_NAMES = '{00020386-0000-0000-C000-000000000046}'

export const headersSchema = pageSchema(messageSchema)
export const HEADER_QUERY = {
  $select: HEADER_FIELDS,
  $expand: `singleValueExtendedProperties($filter=${OWN_FIELDS.map(
    name => `id eq 'String ${PUBLIC_NAMES} Name ${name}'`,
  ).join(' or ')})`,
}

/** `ChangingProvider.find` on Graph. */
export async function findByMessageId(
  api: GraphApi,
  folderId: string,
  internetMessageId: string,
  fields: readonly string[],
): Promise<FoundMessage[]> {
  const found = await messagesWithId(api, folderId, internetMessageId)
  return found.map(message => toFound(message, fields))
}

/** Messages of a folder with a Message-ID, newest first. Without a folder, all that the mailbox has. */
export async function messagesWithId(
  api: GraphApi,
  folderId: string | null,
  internetMessageId: string,
): Promise<GraphMessage[]> {
  const { value } = await api.ask({
    path: folderId === null ? 'messages' : `mailFolders/${segment(folderId)}/messages`,
    query: {
      $filter: `internetMessageId eq ${quoted(internetMessageId)}`,
      $top: FOUND_MESSAGES_MAX,
      ...HEADER_QUERY,
    },
    schema: headersSchema,
    accepts: [200],
    answerBytesMax: FOUND_BYTES_MAX,
  })
  return value.value
    .filter(message => message.internetMessageId === internetMessageId)
    .toSorted(
      (a, b) =>
        (b.receivedDateTime ?? b.createdDateTime ?? 0) - (a.receivedDateTime ?? a.createdDateTime ?? 0),
    )
}

/** A text in a filter (OData 4.01, ABNF, `string`). */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

export function toFound(message: GraphMessage, fields: readonly string[]): FoundMessage {
  return {
    location: locationOf(message.parentFolderId ?? '', message.id),
    flags: flagsOf(message),
    revision: message['@odata.etag'] ?? null,
    fields: new Map(
      fields.flatMap(name => {
        const value = headerOf(message, name)
        return value === null ? [] : [[name, value] as const]
      }),
    ),
  }
}

/** The first field of this name, unfolded; null if there is none. */
export function headerOf(
  { internetMessageHeaders, singleValueExtendedProperties }: GraphMessage,
  name: string,
): string | null {
  const wanted = name.toLowerCase()
  const field = internetMessageHeaders?.find(header => header.name.toLowerCase() === wanted)
  const value =
    field?.value ??
    singleValueExtendedProperties?.find(({ id }) => id.toLowerCase().endsWith(` name ${wanted}`))?.value
  return value === undefined || value === null ? null : value.replaceAll(/\r?\n(?=[ \t])/g, '').trim()
}

export async function unlessGone<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind === 'not_found') return null
    throw error
  }
}

export const createdSchema = z.object({ id: z.string(), conversationId: z.string().nullish() })
