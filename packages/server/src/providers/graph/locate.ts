import { isOfPart } from '../http/ask-twice.ts'
import type { Located, MessageKey } from '../mail.ts'
import { type AskOptions, BATCH_PARTS_MAX, type GraphRequest, segment } from './api.ts'
import { askTwice } from './ask-twice.ts'
import { sightOf } from './folders.ts'
import type { GraphConnection } from './graph-connection.ts'
import { flagsOf, STATE_FIELDS } from './message.ts'
import { type MessageState, stateSchema } from './resources.ts'

/** The folders that messages are in now. Always calls the provider. A message is gone only if its id is not found. */
export async function locateMessages(
  connection: GraphConnection,
  keys: readonly MessageKey[],
  options: AskOptions,
): Promise<Located> {
  const located: Located = { found: new Map(), gone: [], unreadable: [] }
  for (let at = 0; at < keys.length; at += BATCH_PARTS_MAX) {
    const asked = keys.slice(at, at + BATCH_PARTS_MAX).map(String)
    const outcomes = await askTwice(connection.api, asked.map(requestOfState), options)
    for (const [index, { value, failure }] of outcomes.entries()) {
      const key = asked[index]!
      const folderId = value?.parentFolderId
      if (failure?.kind === 'not_found') located.gone.push(key)
      else if (failure && !isOfPart(failure)) throw failure
      else if (value?.id !== key || !folderId)
        located.unreadable.push({
          key,
          reason: failure?.message ?? 'Microsoft Graph answered with another message',
        })
      else {
        const sight = await sightOf(connection, folderId, options)
        if (sight === 'visible') located.found.set(key, { flags: flagsOf(value), mailboxKeys: [folderId] })
        else if (sight === 'hidden') located.gone.push(key)
        else located.unreadable.push({ key, reason: 'Microsoft Graph did not find its folder' })
      }
    }
  }
  return located
}

function requestOfState(id: string): GraphRequest<MessageState> {
  return {
    path: `messages/${segment(id)}`,
    query: { $select: STATE_FIELDS },
    schema: stateSchema,
    accepts: [200],
  }
}
