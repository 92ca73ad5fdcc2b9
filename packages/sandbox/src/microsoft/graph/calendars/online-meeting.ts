import type { EventFields } from '../../mailbox/event.ts'
import type { MethodCall } from '../method.ts'
import { providersOf } from './calendar-methods.ts'
import type { EventInput } from './event-input.ts'

type Meeting = Pick<EventFields, 'body' | 'joinUrl' | 'onlineMeetingProvider'>

/**
 * The body and the online meeting after a write. A new Teams meeting puts a block into the body; a body without the
 * block ends the meeting, which nothing else ends (learn.microsoft.com/graph/api/event-update).
 */
export function meetingAfter(
  call: MethodCall,
  { fields, isOnlineMeeting }: EventInput,
  before: Meeting,
): Meeting {
  const body = fields.body ?? before.body
  if (before.joinUrl !== null && body.content.includes(before.joinUrl)) return { ...before, body }
  const isAsked = isOnlineMeeting ?? false
  const [provider] = providersOf(call)
  if (!isAsked || before.joinUrl !== null || provider === undefined)
    return { body, joinUrl: null, onlineMeetingProvider: 'unknown' }
  const thread = call.graph.writing.unique().toLowerCase()
  const joinUrl = `https://teams.microsoft.com/l/meetup-join/19%3ameeting_${thread}%40thread.v2/0`
  return { body: withBlock(body, joinUrl), joinUrl, onlineMeetingProvider: provider }
}

const LINE = '________________________________________________________________________________'

function withBlock({ contentType, content }: EventFields['body'], joinUrl: string): EventFields['body'] {
  if (contentType === 'text')
    return {
      contentType,
      content: `${content}\r\n${LINE}\r\nMicrosoft Teams meeting\r\nJoin: ${joinUrl}\r\n${LINE}`,
    }
  const block = `<div>${LINE}</div><div>Microsoft Teams meeting</div><div><a href="${joinUrl}">Join the meeting now</a></div><div>${LINE}</div>`
  const [, inner = content] = /<body[^>]*>([\s\S]*)<\/body>/i.exec(content) ?? []
  return { contentType, content: `<html><body>${inner}${block}</body></html>` }
}
