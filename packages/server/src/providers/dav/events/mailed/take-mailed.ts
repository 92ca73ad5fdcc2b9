import { viewOf } from '../event-tree.ts'
import { type OpenEvent, openEvent } from '../open-edit.ts'
import { readUid } from '../read-event.ts'
import type { ResolveZone } from '../read-events.ts'
import { readMailedEvent } from './mailed-event.ts'
import { keepEventsFor, mainNode } from './open-mailed.ts'
import { takeCancel } from './take-cancel.ts'
import { takeReply } from './take-reply.ts'
import { takeRequest } from './take-request.ts'

/** A mail about an event, in a form that a thread takes. */
export interface TakenMail {
  bytes: Uint8Array
  from: string
}

const TAKERS = { request: takeRequest, cancel: takeCancel, reply: takeReply } as const

/**
 * Brings the event of a file to the state that a mail has.
 * @returns whether the file is to be written
 * @throws UnreadableEvents, UnwritableEvents
 */
export function takeMailed(
  open: OpenEvent,
  { bytes: { buffer, byteOffset, length }, from }: TakenMail,
  own: ReadonlySet<string>,
  resolveZone: ResolveZone,
): boolean {
  const bytes = Buffer.from(buffer, byteOffset, length)
  const read = readMailedEvent(bytes, { from, own })
  const main = mainNode(open)
  if (!read || !main || readUid(viewOf(main)) !== read.uid) return false
  const mailed = openEvent(bytes, resolveZone, { now: open.context.now, own })
  keepEventsFor(mailed, { method: read.method, own })
  return TAKERS[read.method]({ open, mailed, from, own })
}
