import { cutText } from '../kit/mime/text.ts'
import { toName } from './contact-text.ts'
import type { EventAddress, RemoteAttendee } from './calendars.ts'

/** The most attendees of one event that are shown. */
export const ATTENDEES_MAX = 500
const ADDRESS_LENGTH_MAX = 320
const PERSON_NAME_LENGTH_MAX = 255

/** A person of an event; null if the text is no mail address. A name that only repeats the address is left out. */
export function toEventAddress(text: string, nameText: string): EventAddress | null {
  const address = text.trim()
  if (address.length > ADDRESS_LENGTH_MAX || !/^[^\s@<>]+@[^\s@<>]+$/.test(address)) return null
  const name = toName(nameText)
  if (name === null || name.toLowerCase() === address.toLowerCase()) return { name: null, address }
  return { name: cutText(name, PERSON_NAME_LENGTH_MAX).trimEnd(), address }
}

/** The attendees that are shown, each address once. */
export function uniqueAttendees(all: Iterable<RemoteAttendee | null>): RemoteAttendee[] {
  const attendees = new Map<string, RemoteAttendee>()
  for (const attendee of all) {
    if (attendees.size === ATTENDEES_MAX) break
    const key = attendee?.address.toLowerCase()
    if (attendee && key !== undefined && !attendees.has(key)) attendees.set(key, attendee)
  }
  return [...attendees.values()]
}
