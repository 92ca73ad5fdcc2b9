import { DAY_MS, parseBasic, wallAt } from '../../../calendaring/moments.ts'
import { parseMessage, partBytes, partsOf } from '../../../mail/mime.ts'
import type { ResponseStatus } from '../../mailbox/event.ts'
import type { Mailbox } from '../../mailbox/mailbox.ts'
import { findByUid, noteResponse } from './invitations.ts'

const UID_LETTERS = 40

const RESPONSES: Readonly<Record<string, ResponseStatus['response']>> = {
  ACCEPTED: 'accepted',
  TENTATIVE: 'tentativelyAccepted',
  DECLINED: 'declined',
}

/** Notes the response of an attendee that a mail brings (RFC 5546 section 3.2.3). Other mail changes nothing. */
export function noteReply(mailbox: Mailbox, raw: Buffer): void {
  if (!raw.includes('text/calendar')) return
  for (const part of partsOf(parseMessage(raw))) {
    if (part.mimeType === 'text/calendar') noteLines(mailbox, partBytes(raw, part).toString('utf8'))
  }
}

function noteLines(mailbox: Mailbox, text: string): void {
  const lines = text.replaceAll(/\r?\n[ \t]/g, '').split(/\r?\n/)
  const valueOf = (name: string): string =>
    lines.find(line => line.startsWith(`${name}:`) || line.startsWith(`${name};`)) ?? ''
  if (valueOf('METHOD').slice('METHOD:'.length).toUpperCase() !== 'REPLY') return
  const uid = valueOf('UID').slice('UID:'.length).slice(-UID_LETTERS)
  const attendee = valueOf('ATTENDEE')
  const response = RESPONSES[/;PARTSTAT=([A-Z-]+)/i.exec(attendee)?.[1]?.toUpperCase() ?? '']
  const address = /:mailto:(.+)$/i.exec(attendee)?.[1]?.toLowerCase()
  const event = findByUid(mailbox, uid)?.event
  if (!event || response === undefined || address === undefined) return
  const day = dayOfMember(valueOf('RECURRENCE-ID'), 'zone' in event.start ? event.start.zone : 'UTC')
  noteResponse(mailbox, uid, { address, status: { response, at: mailbox.now() }, day })
}

/** The day of the occurrence that a RECURRENCE-ID names; null without one. */
function dayOfMember(line: string, zone: string): number | null {
  const date = parseBasic(/:(\d{8}(?:T\d{6}Z?)?)$/.exec(line)?.[1] ?? '')
  if (!date) return null
  const wall = date.isUtc ? wallAt(date.wall, zone) : date.wall
  return Math.floor(wall / DAY_MS)
}
