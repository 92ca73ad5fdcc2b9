import { type ContentLine, parameterOf } from '../../../kit/content-lines/content-line.ts'
import type { AttendeeResponse, EventAddress, RemoteAttendee } from '../../calendars.ts'
import { toName } from '../../contact-text.ts'

/** The most attendees of one event that are shown. */
const ATTENDEES_MAX = 1_000
const ADDRESS_LENGTH_MAX = 320

/** PARTSTAT (RFC 5545 section 3.2.12). */
const RESPONSES: Readonly<Record<string, AttendeeResponse>> = {
  ACCEPTED: 'accepted',
  TENTATIVE: 'tentative',
  DECLINED: 'declined',
}

/** An organizer or attendee; null if the line has no mail address. */
export function readAddress(line: ContentLine): EventAddress | null {
  const address = addressIn(line.value) ?? addressIn(parameterOf(line, 'EMAIL') ?? '')
  if (address === null) return null
  const name = toName(parameterOf(line, 'CN') ?? '')
  return { name: name?.toLowerCase() === address.toLowerCase() ? null : name, address }
}

/** The attendees of an event, each address once. */
export function readAttendees(lines: readonly ContentLine[]): RemoteAttendee[] {
  const attendees = new Map<string, RemoteAttendee>()
  for (const line of lines) {
    if (attendees.size === ATTENDEES_MAX) break
    const person = readAddress(line)
    if (!person) continue
    const key = person.address.toLowerCase()
    if (!attendees.has(key)) attendees.set(key, { ...person, type: typeOf(line), response: responseOf(line) })
  }
  return [...attendees.values()]
}

function addressIn(value: string): string | null {
  const text = value.trim().replace(/^mailto:/i, '')
  const address = decode(text.split('?')[0] ?? '').trim()
  return address.length <= ADDRESS_LENGTH_MAX && /^[^\s@<>]+@[^\s@<>]+$/.test(address) ? address : null
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** CUTYPE and ROLE (RFC 5545 sections 3.2.3 and 3.2.16). */
function typeOf(line: ContentLine): RemoteAttendee['type'] {
  const kind = parameterOf(line, 'CUTYPE')?.toUpperCase()
  if (kind === 'RESOURCE' || kind === 'ROOM') return 'resource'
  const role = parameterOf(line, 'ROLE')?.toUpperCase()
  return role === 'OPT-PARTICIPANT' || role === 'NON-PARTICIPANT' ? 'optional' : 'required'
}

/** A missing status reads NEEDS-ACTION, and so does any other, such as DELEGATED. */
function responseOf(line: ContentLine): AttendeeResponse {
  return RESPONSES[parameterOf(line, 'PARTSTAT')?.toUpperCase() ?? ''] ?? 'needs_action'
}
