import { parameterOf } from '../../../kit/content-lines/content-line.ts'
import { splitValue, unescapeText } from '../../../kit/content-lines/text-value.ts'
import type { RemoteEvent } from '../../calendars.ts'
import { toName } from '../../contact-text.ts'
import { toBody } from '../../event-text.ts'
import { webUrl } from '../../online-meeting.ts'
import { readTime as readRevision } from '../cards/revision-time.ts'
import { type EventComponent, lineOf, linesOf, wordOf } from './event-file.ts'
import { readTimes, type ZoneOf } from './event-times.ts'
import { readOnlineMeeting } from './online-meeting.ts'
import { readAddress, readAttendees } from './people.ts'
import { readReminder } from './reminder.ts'

/** The most categories of one event that are shown. */
const CATEGORIES_MAX = 100

const SENSITIVITIES: Readonly<Record<string, RemoteEvent['sensitivity']>> = {
  '': 'normal',
  PUBLIC: 'normal',
  CONFIDENTIAL: 'confidential',
}

const STATUSES: Readonly<Record<string, RemoteEvent['status']>> = {
  TENTATIVE: 'tentative',
  CANCELLED: 'cancelled',
}

/** Reads a VEVENT. A value that cannot be read is null, or absent from its list; null without a start that can be read. */
export function readEvent(event: EventComponent, zoneOf: ZoneOf): RemoteEvent | null {
  const times = readTimes(event, zoneOf)
  if (!times) return null
  const text = (name: string) => unescapeText(lineOf(event, name)?.value ?? '')
  const [location, body] = [toName(text('LOCATION')), readBody(event)]
  const organizer = lineOf(event, 'ORGANIZER')
  const sequence = readSequence(event)
  return {
    ...times,
    subject: toName(text('SUMMARY')),
    location,
    body,
    organizer: organizer ? readAddress(organizer) : null,
    attendees: readAttendees(linesOf(event, 'ATTENDEE')),
    // CalDAV does not report which addresses are the account's.
    self: null,
    status: STATUSES[wordOf(event, 'STATUS')] ?? 'confirmed',
    showAs: readShowAs(event),
    // Any other class is to be treated as private (RFC 5545 section 3.8.1.3).
    sensitivity: SENSITIVITIES[wordOf(event, 'CLASS')] ?? 'private',
    ...readOnlineMeeting(event, [location, text('URL'), body?.content ?? null]),
    iCalUid: readUid(event),
    categories: readCategories(event),
    hasAttachments: event.named.has('ATTACH'),
    reminderMinutes: readReminder(event, times),
    webLink: webUrl(text('URL').trim())?.href ?? null,
    updatedAt: readTimestamp(event, 'LAST-MODIFIED') ?? readTimestamp(event, 'DTSTAMP'),
    ...(sequence > 0 && { sequence }),
  }
}

/** RFC 5545 section 3.3.8 bounds integers. */
const SEQUENCE_MAX = 2 ** 31 - 2

function readSequence(event: EventComponent): number {
  const sequence = Number.parseInt(lineOf(event, 'SEQUENCE')?.value ?? '', 10)
  return sequence > 0 ? Math.min(sequence, SEQUENCE_MAX) : 0
}

export function readUid(event: EventComponent): string | null {
  return toName(unescapeText(lineOf(event, 'UID')?.value ?? ''))
}

/** A timestamp in milliseconds, or null. */
function readTimestamp(event: EventComponent, name: string): Date | null {
  return readRevision(lineOf(event, name)?.value ?? '')
}

/** The HTML form of a description where a program has written one, else its text. */
function readBody(event: EventComponent): RemoteEvent['body'] {
  const isHtml = (line: Parameters<typeof parameterOf>[0]) =>
    parameterOf(line, 'FMTTYPE')?.toLowerCase() === 'text/html'
  // STYLED-DESCRIPTION is of RFC 9073 section 6.5, X-ALT-DESC of Outlook.
  const styled = [...linesOf(event, 'X-ALT-DESC'), ...linesOf(event, 'STYLED-DESCRIPTION')].find(isHtml)
  const description = lineOf(event, 'DESCRIPTION')
  const html = toBody(
    styled ? unescapeText(styled.value) : dataIn(description && parameterOf(description, 'ALTREP')),
  )
  if (html !== null) return { contentType: 'html', content: html }
  const content = toBody(unescapeText(description?.value ?? ''))
  return content === null ? null : { contentType: 'text', content }
}

/** Thunderbird writes the HTML of a description as a data URL (RFC 2397) in ALTREP. */
function dataIn(url: string | null | undefined): string {
  const [, encoding, data] = /^data:text\/html(?:;charset=[\w-]+)?(;base64)?,(.*)$/is.exec(url ?? '') ?? []
  if (data === undefined) return ''
  try {
    return encoding ? Buffer.from(data, 'base64').toString('utf8') : decodeURIComponent(data)
  } catch {
    return ''
  }
}

const BUSY_STATUSES: Readonly<Record<string, RemoteEvent['showAs']>> = {
  TENTATIVE: 'tentative',
  OOF: 'oof',
  WORKINGELSEWHERE: 'working_elsewhere',
}

/** Outlook's status refines TRANSP, and does not contradict it: clients that do not know it change TRANSP alone. */
function readShowAs(event: EventComponent): RemoteEvent['showAs'] {
  const status = wordOf(event, 'X-MICROSOFT-CDO-BUSYSTATUS')
  const transparency = wordOf(event, 'TRANSP')
  const isFree = transparency === 'TRANSPARENT' || (transparency === '' && status === 'FREE')
  if (isFree) return status === 'WORKINGELSEWHERE' ? 'working_elsewhere' : 'free'
  return BUSY_STATUSES[status] ?? 'busy'
}

function readCategories(event: EventComponent): string[] {
  const categories = new Set<string>()
  for (const { value } of linesOf(event, 'CATEGORIES'))
    for (const part of splitValue(value, ',')) {
      if (categories.size === CATEGORIES_MAX) return [...categories]
      const category = toName(unescapeText(part))
      if (category !== null) categories.add(category)
    }
  return [...categories]
}
