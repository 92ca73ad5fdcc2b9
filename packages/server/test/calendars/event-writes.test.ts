import ICAL from 'ical.js'
import { expect, test } from 'vitest'
import { toName } from '../../src/providers/contact-text.ts'
import type { AskedAttendee, EventInput } from '../../src/providers/changing-calendars.ts'
import { lineOf } from '../contacts/random-changes.ts'
import { type Random, seeded } from '../seeded.ts'
import { changeAll, edit, SELF } from './odd/edit-file.ts'

/* For more: `WAXWING_TEST_EVENT_WRITES=100000 WAXWING_TEST_EVENT_SEED=2 npx vitest run event-writes.test.ts`. */
const WRITES = Number(process.env['WAXWING_TEST_EVENT_WRITES'] ?? 200)
const SEED = process.env['WAXWING_TEST_EVENT_SEED'] ?? '1'

const berlin = (wall: string) => ({ wall, zone: 'Europe/Berlin' })
/** Local parts of addresses with the characters that are allowed and that a URI has to encode. */
const LOCAL_PARTS = ['ada', 'a?b', 'a%41', "o'hara", 'a+b', 'a#b', 'a=b&c', '{a}', 'ñ']

type Fields = Pick<EventInput, 'subject' | 'location' | 'body' | 'attendees'>

/** @param domain of its people */
function randomFields(random: Random, domain: string): Fields {
  const text = () => (random.chance(0.2) ? null : lineOf(random))
  const people = Array.from({ length: random.between(0, 4) }, (_, nth): AskedAttendee => {
    // ical.js unescapes parameters, which have no escapes (RFC 5545 section 3.2).
    const name = random.chance(0.2)
      ? null
      : lineOf(random).replaceAll('\\', '/').slice(0, 200).toWellFormed().trim()
    return { name, address: `${random.pick(LOCAL_PARTS)}${nth}@${domain}`, type: 'required' }
  })
  const content = [lineOf(random), lineOf(random)].join(random.pick(['\n', '\r\n', '\n\n', '\t']))
  return {
    subject: text(),
    location: text(),
    body: random.chance(0.2) ? null : { contentType: 'text', content },
    attendees: people,
  }
}

/** Names of the properties that an event with some fields may have besides those that every one has. */
const NAMES: Readonly<Record<keyof Fields, readonly string[]>> = {
  subject: ['SUMMARY'],
  location: ['LOCATION'],
  body: ['DESCRIPTION'],
  attendees: ['ATTENDEE', 'ORGANIZER'],
}
const ALWAYS = ['UID', 'DTSTART', 'DTEND', 'SEQUENCE', 'DTSTAMP', 'LAST-MODIFIED', 'CREATED', 'TRANSP']

/** The event as ical.js reads it, which shares no code with ours. It takes no folds within characters. */
function readByOthers(file: Buffer): ICAL.Component {
  const unfolded = Buffer.from(file.toString('latin1').replaceAll(/\r?\n[ \t]/g, ''), 'latin1')
  const calendar = new ICAL.Component(ICAL.parse(unfolded.toString()) as unknown[] as [string, [], []])
  const kinds = calendar.getAllSubcomponents().map(({ name }) => name)
  expect(kinds.toSorted()).toEqual(['vevent', 'vtimezone'])
  const names = calendar.getAllProperties().map(({ name }) => name)
  expect(names.toSorted()).toEqual(['prodid', 'version'])
  return calendar.getFirstSubcomponent('vevent')!
}

function expectWritten(file: Buffer, { subject, location, body, attendees }: Fields): void {
  const event = readByOthers(file)
  const allowed = new Set([...ALWAYS, ...Object.values(NAMES).flat()])
  const names = event.getAllProperties().map(({ name }) => name.toUpperCase())
  expect(names.filter(name => !allowed.has(name))).toEqual([])
  const others = names.filter(name => name !== 'ATTENDEE')
  expect(new Set(others).size).toBe(others.length)
  expect(event.getAllSubcomponents()).toEqual([])
  const text = (name: string) => event.getFirstPropertyValue(name) ?? null
  expect(text('summary')).toBe(subject && toName(subject))
  expect(text('location')).toBe(location && toName(location))
  expect(text('description')).toBe(body && body.content.replaceAll('\r\n', '\n'))
  const people = event.getAllProperties('attendee').map(line => ({
    name: line.getParameter('cn') ?? null,
    address: decodeURIComponent(String(line.getFirstValue()).replace('mailto:', '')),
  }))
  const given = attendees.map(({ name, address }) => ({ name: name && toName(name), address }))
  expect(people.filter(({ address }) => address !== SELF.address)).toEqual(given)
}

test(
  `another program reads ${WRITES} written events as they were meant`,
  { timeout: 30_000 + WRITES * 20 },
  () => {
    for (let index = 0; index < WRITES; index++) {
      const random = seeded(`${SEED}/${index}`)
      const made = randomFields(random, 'example.org')
      const fields: EventInput = {
        ...made,
        start: berlin('20261201T090000'),
        end: berlin('20261201T100000'),
        recurrence: null,
        showAs: 'busy',
        sensitivity: 'normal',
        reminderMinutes: null,
        onlineMeeting: false,
        onlineMeetingUrl: null,
      }
      const file = edit(Buffer.alloc(0), { type: 'create', uid: `u-${index}`, fields })
      expectWritten(file, made)
      const change = randomFields(random, 'example.net')
      expectWritten(changeAll(file, change), change)
    }
  },
)
