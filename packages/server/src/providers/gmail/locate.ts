import type { Located, MessageKey } from '../mail.ts'
import { type AskOptions, BATCH_PARTS_MAX, type GmailRequest, segment } from './api.ts'
import { isOfPart } from '../http/ask-twice.ts'
import { askTwice } from './ask-twice.ts'
import type { GmailConnection } from './gmail-connection.ts'
import { CHAT, flagsOf, mailboxKeysOf } from './labels.ts'
import { STATE_FIELDS } from './message.ts'
import { type State, stateSchema } from './resources.ts'
import { UNITS } from './units.ts'

/** The labels that messages have now. Chats count as gone. Always calls the provider. */
export async function locateMessages(
  { api, ignoredLabels, signal }: GmailConnection,
  keys: readonly MessageKey[],
  urgency: AskOptions['urgency'] = 'prompt',
): Promise<Located> {
  const located: Located = { found: new Map(), gone: [], unreadable: [] }
  for (let at = 0; at < keys.length; at += BATCH_PARTS_MAX) {
    const asked = keys.slice(at, at + BATCH_PARTS_MAX).map(String)
    const outcomes = await askTwice(api, asked.map(requestOfState), { signal, urgency })
    for (const [index, { value, failure }] of outcomes.entries()) {
      const key = asked[index]!
      if (failure?.kind === 'not_found' || value?.labelIds.includes(CHAT)) located.gone.push(key)
      else if (failure && !isOfPart(failure)) throw failure
      else if (value?.id === key)
        located.found.set(key, {
          flags: flagsOf(value.labelIds),
          mailboxKeys: mailboxKeysOf(value.labelIds, ignoredLabels),
        })
      else located.unreadable.push({ key, reason: failure?.message ?? 'Gmail answered with another message' })
    }
  }
  return located
}

function requestOfState(id: string): GmailRequest<State> {
  return {
    path: `messages/${segment(id)}`,
    query: { format: 'minimal', fields: STATE_FIELDS },
    units: UNITS.messagesGet,
    schema: stateSchema,
  }
}
