import { html, type Html } from '../../../kit/html.ts'
import type { ItipComponent, ItipPerson } from '../../../kit/itip/component.ts'
import { cleanLine, cutText } from '../../../kit/mime/text.ts'
import type { Message } from './plan-messages.ts'
import { printDate, printRecurrence, printTimes } from './print-times.ts'

/* The subject and the words of mails about events. Programs read the calendar beside them. */

const SUBJECT_LENGTH_MAX = 200
/** A longer description is in the calendar alone. */
const BODY_LENGTH_MAX = 10_000
const ATTENDEES_MAX = 20

export interface MessageTexts {
  subject: string
  text: string
  html: string
}

/** @param description the body of the event as text; null: it has none */
export function printTexts(message: Message, description: string | null): MessageTexts {
  const [event] = message.components
  if (!event) throw new RangeError('A message has no event')
  const { label, sentence } = headOf(message, event)
  const title = event.subject ? cleanLine(event.subject, SUBJECT_LENGTH_MAX) : 'Event without a title'
  const date = event.recurrenceId ? `, ${printDate(event.recurrenceId.wall)}` : ''
  const facts = factsOf(message, event)
  const body = shortened(description)
  const lines = facts.map(([name, value]) => `${name}: ${value}`)
  const text = [sentence, '', title, ...lines, ...(body ? ['', body] : []), ''].join('\n')
  return { subject: `${label}: ${title}${date}`, text, html: String(page({ sentence, title, facts, body })) }
}

function headOf(
  { method, isNew, member }: Message,
  event: ItipComponent,
): { label: string; sentence: string } {
  const { organizer, attendees } = event
  const what = member === null ? 'this event' : 'one occurrence of this event'
  if (method === 'CANCEL')
    return {
      label: 'Cancelled',
      sentence: isNew
        ? `${nameOf(organizer)} has taken you off the list of ${what}.`
        : `${nameOf(organizer)} has cancelled ${what}.`,
    }
  if (method === 'REQUEST')
    return isNew
      ? { label: 'Invitation', sentence: `${nameOf(organizer)} invites you to ${what}.` }
      : { label: 'Updated invitation', sentence: `${nameOf(organizer)} has changed ${what}.` }
  const [attendee] = attendees
  const who = attendee ? nameOf(attendee) : ''
  if (attendee?.response === 'accepted')
    return { label: 'Accepted', sentence: `${who} has accepted ${what}.` }
  if (attendee?.response === 'declined')
    return { label: 'Declined', sentence: `${who} has declined ${what}.` }
  return { label: 'Tentatively accepted', sentence: `${who} has tentatively accepted ${what}.` }
}

function factsOf({ method }: Message, event: ItipComponent): Array<readonly [name: string, value: string]> {
  const { recurrence, start, location, meetingUrl, comment, organizer, attendees } = event
  const repeats =
    recurrence.length === 0
      ? null
      : (printRecurrence(recurrence, start) ?? 'see the calendar file of this mail')
  const shown = attendees.slice(0, ATTENDEES_MAX).map(printPerson)
  const more = attendees.length > shown.length ? `, and ${attendees.length - shown.length} more` : ''
  const facts: Array<readonly [string, string | null]> = [
    ['When', printTimes(event)],
    ['Repeats', repeats],
    ['Where', location && cleanLine(location, BODY_LENGTH_MAX)],
    ['Join', meetingUrl],
    ['Comment', comment],
    ['Organizer', printPerson(organizer)],
    ['Invited', method === 'REQUEST' && shown.length > 0 ? `${shown.join(', ')}${more}` : null],
  ]
  return facts.flatMap(([name, value]) => (value ? [[name, value] as const] : []))
}

function shortened(description: string | null): string | null {
  const text = (description ?? '').trim()
  if (text.length <= BODY_LENGTH_MAX) return text || null
  return `${cutText(text, BODY_LENGTH_MAX)}…`
}

const nameOf = ({ name, address }: ItipPerson): string => name ?? address
const printPerson = ({ name, address }: ItipPerson): string =>
  name === null ? address : `${name} <${address}>`

function page({
  sentence,
  title,
  facts,
  body,
}: {
  sentence: string
  title: string
  facts: ReadonlyArray<readonly [string, string]>
  body: string | null
}): Html {
  return html`<!doctype html>
    <html lang="en">
      <body>
        <p>${sentence}</p>
        <h2>${title}</h2>
        <table>
          ${facts.map(
            ([name, value]) =>
              html`<tr>
                <td style="padding-right:1em;vertical-align:top">${name}</td>
                <td>${name === 'Join' ? linkTo(value) : value}</td>
              </tr>`,
          )}
        </table>
        ${body !== null && html`<p style="white-space:pre-wrap">${body}</p>`}
      </body>
    </html> `
}

/** Other schemes than those of the web are shown as text. */
const linkTo = (url: string): Html =>
  /^https?:\/\//i.test(url) ? html`<a href="${url}">${url}</a>` : html`${url}`
