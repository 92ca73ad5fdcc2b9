import { type ContentLine, parameterOf } from '../../../kit/content-lines/content-line.ts'
import type { AttendeeResponse, EventAddress, RemoteAttendee } from '../../calendars.ts'
import { toEventAddress, uniqueAttendees } from '../../event-people.ts'

/** PARTSTAT (RFC 5545 section 3.2.12). */
const RESPONSES: Readonly<Record<string, AttendeeResponse>> = {
  ACCEPTED: 'accepted',
  TENTATIVE: 'tentative',
  DECLINED: 'declined',
}

/** An organizer or attendee; null if the line has no mail address. */
export function readAddress(line: ContentLine): EventAddress | null {
  const name = parameterOf(line, 'CN') ?? ''
  return addressIn(line.value, name) ?? addressIn(parameterOf(line, 'EMAIL') ?? '', name)
}

/** The attendees of an event, each address once. */
export function readAttendees(lines: Iterable<ContentLine>): RemoteAttendee[] {
  return uniqueAttendees(attendeesOf(lines))
}

/** Lines beyond the attendees that are shown are not read. */
function* attendeesOf(lines: Iterable<ContentLine>): Generator<RemoteAttendee | null> {
  for (const line of lines) {
    const person = readAddress(line)
    yield person && { ...person, type: typeOf(line), response: responseOf(line) }
  }
}

function addressIn(value: string, name: string): EventAddress | null {
  const text = value.trim().replace(/^mailto:/i, '')
  return toEventAddress(decode(text.split('?')[0] ?? ''), name)
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** CUTYPE and ROLE (RFC 5545 sections 3.2.3 and 3.2.16). */
export function typeOf(line: ContentLine): RemoteAttendee['type'] {
  const kind = parameterOf(line, 'CUTYPE')?.toUpperCase()
  if (kind === 'RESOURCE' || kind === 'ROOM') return 'resource'
  const role = parameterOf(line, 'ROLE')?.toUpperCase()
  return role === 'OPT-PARTICIPANT' || role === 'NON-PARTICIPANT' ? 'optional' : 'required'
}

/** A missing status reads NEEDS-ACTION, and so does any other, such as DELEGATED. */
function responseOf(line: ContentLine): AttendeeResponse {
  return RESPONSES[parameterOf(line, 'PARTSTAT')?.toUpperCase() ?? ''] ?? 'needs_action'
}
