import { ProviderFailure } from '../failure.ts'
import { isOfPart } from '../http/ask-twice.ts'
import type { RemoteMessage, UnreadableMessage } from '../mail.ts'
import { type AskOptions, BATCH_PARTS_MAX, type GraphRequest, segment } from './api.ts'
import { askTwice } from './ask-twice.ts'
import { readDraft } from './draft-content.ts'
import { isHidden } from './folders.ts'
import type { GraphConnection } from './graph-connection.ts'
import { MESSAGE_QUERY, toRemoteMessage } from './message.ts'
import { type GraphMessage, messageSchema } from './resources.ts'

/** Header fields may be long. */
const MESSAGE_BYTES_MAX = 4 * 1024 * 1024

export interface Fetched {
  messages: RemoteMessage[]
  /** Ids that the provider does not have, or has where the user does not see them. */
  gone: string[]
  unreadable: UnreadableMessage[]
}

/** Fetches messages whole, as the index shows them. Throws failures that no message causes. */
export async function fetchMessages(
  connection: GraphConnection,
  ids: readonly string[],
  options: AskOptions,
): Promise<Fetched> {
  const fetched: Fetched = { messages: [], gone: [], unreadable: [] }
  for (let at = 0; at < ids.length; at += BATCH_PARTS_MAX) {
    const asked = ids.slice(at, at + BATCH_PARTS_MAX)
    const outcomes = await askTwice(connection.api, asked.map(requestOfMessage), options)
    for (const [index, { value, failure }] of outcomes.entries()) {
      const key = asked[index]!
      if (failure?.kind === 'not_found') fetched.gone.push(key)
      else if (failure && !isOfPart(failure)) throw failure
      else if (value?.id !== key)
        fetched.unreadable.push({
          key,
          reason: failure?.message ?? 'Microsoft Graph answered with another message',
        })
      else if (value.isDraft === true) await sortDraft(connection, value, fetched, options)
      else await sort(connection, value, fetched, options)
    }
  }
  return fetched
}

async function sort(
  connection: GraphConnection,
  message: GraphMessage,
  fetched: Fetched,
  options: AskOptions,
  read: RemoteMessage = toRemoteMessage(message),
): Promise<void> {
  const { parentFolderId } = message
  if (!parentFolderId)
    fetched.unreadable.push({ key: message.id, reason: 'Microsoft Graph named no folder of the message' })
  else if (await isHidden(connection, parentFolderId, options)) fetched.gone.push(message.id)
  else fetched.messages.push(read)
}

/** Reads a draft once more, with its content. If that cannot be read, each change of the draft counts as an edit. */
async function sortDraft(
  connection: GraphConnection,
  message: GraphMessage,
  fetched: Fetched,
  options: AskOptions,
): Promise<void> {
  try {
    const draft = await readDraft(connection.api, message.id, options)
    if (draft === null) fetched.gone.push(message.id)
    else await sort(connection, draft.given, fetched, options, draft.message)
  } catch (error) {
    if (!(error instanceof ProviderFailure) || !isOfPart(error)) throw error
    await sort(connection, message, fetched, options)
  }
}

function requestOfMessage(id: string): GraphRequest<GraphMessage> {
  return {
    path: `messages/${segment(id)}`,
    query: MESSAGE_QUERY,
    schema: messageSchema,
    accepts: [200],
    answerBytesMax: MESSAGE_BYTES_MAX,
  }
}
