import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterAll, expect, test } from 'vitest'
import { startOddDav } from '../../../test/servers/odd-dav.ts'
import { parseEgressAllow } from '../../kit/egress/allow-list.ts'
import { egressGuard } from '../../kit/egress/guard.ts'
import type { Creation } from '../changing-calendars.ts'
import { never } from '../conformance/arrangement.ts'
import { PLAIN_EVENT } from '../conformance/changing-calendars-account.ts'
import { ProviderFailure } from '../failure.ts'
import { calDavAccount } from './caldav.ts'
import { openFileThread } from './file-thread.ts'
import { LoginSchemes } from './login.ts'

const guard = egressGuard({ allow: parseEgressAllow(['127.0.0.1/32']) })
const files = openFileThread()
afterAll(() => files[Symbol.asyncDispose]())

const window = { start: new Date('2026-09-01'), end: new Date('2027-09-01') }
const self = { name: null, address: 'ada@example.org' }
const options = { self, own: new Set([self.address]), notify: true, concernsOthers: false, window }
const at = (wall: string) => ({ wall, zone: 'Europe/Berlin' })
const recurrence = { rule: 'FREQ=DAILY;COUNT=6', dates: [], taken: ['20261205T090000'] }
const ALL = { type: 'all', timesOf: null } as const
const member = (day: number) => ({ member: `202612${String(day).padStart(2, '0')}T090000`, memberKey: null })

/** The server sends no invitations. */
function answerOptions({ method }: IncomingMessage, response: ServerResponse): boolean {
  if (method === 'OPTIONS') response.writeHead(200, { dav: '1, 3, calendar-access' }).end()
  return method === 'OPTIONS'
}

/** A calendar with a series that has exceptions and a deleted member, and an invitation. */
async function open() {
  await using stack = new AsyncDisposableStack()
  const dav = stack.use(await startOddDav({ answers: answerOptions }, 'calendar'))
  const { home, login } = dav
  const account = { home, login, guard, files, authorities: undefined, schemes: new LoginSchemes() }
  const { calendars } = stack.use(calDavAccount({ ...account, signal: new AbortController().signal }))
  const writer = calendars.writer!
  const [calendar] = await calendars.listCalendars(never)
  const calendarKey = calendar!.key
  const create = (fields: Partial<typeof PLAIN_EVENT>, creation: Creation) =>
    writer.createEvent({ calendarKey, fields: { ...PLAIN_EVENT, ...fields }, ...creation }, options)
  const { place } = await create(
    { subject: 'Series', recurrence },
    { creationId: randomUUID(), mayExist: false },
  )
  for (const day of [2, 6]) {
    const part = { type: 'member', ...member(day) } as const
    await writer.changeEvent({ place, part, change: { subject: `Day ${day}` } }, options)
  }
  const invitation = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'BEGIN:VEVENT',
    'UID:invitation',
    'DTSTAMP:20261101T120000Z',
    'DTSTART:20261201T120000Z',
    'DTEND:20261201T130000Z',
    'ORGANIZER:mailto:boss@example.org',
    `ATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:${self.address}`,
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ]
  dav.put('invitation.ics', invitation.join('\r\n'))
  /** Everything that the calendar has, but its ids. */
  const truth = async () => {
    const listed = (await Array.fromAsync(calendars.list(calendar!, window, never))).flat()
    const keys = listed.map(({ key }) => key)
    const { items } = await calendars.read({ calendarKey, keys, window }, never)
    return items
      .flatMap(item => (item.type === 'item' ? [item] : []))
      .map(({ event, recurrence: lines, members }) => {
        const shown = members?.exceptions.map(one => [one.member, one.event?.start.wall, one.event?.subject])
        const answers = event?.attendees.map(({ response }) => response)
        return JSON.stringify([event?.subject, event?.start.wall, lines, shown, members?.taken, answers])
      })
      .toSorted()
  }
  const invited = { calendarKey, key: place.key.replace(/[^/]+$/, 'invitation.ics') }
  const owned = stack.move()
  return {
    dav,
    writer,
    place,
    invited,
    create,
    truth,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

type Opened = Awaited<ReturnType<typeof open>>

const WRITES: Readonly<Record<string, (opened: Opened, creation: Creation) => Promise<unknown>>> = {
  'creating a series': ({ create }, creation) => create({ subject: 'New', recurrence }, creation),
  'changing an occurrence': ({ writer, place }) =>
    writer.changeEvent(
      { place, part: { type: 'member', ...member(3) }, change: { subject: 'Once' } },
      options,
    ),
  'moving it in time': ({ writer, place }) =>
    writer.changeEvent({ place, part: ALL, change: { start: at('20261201T110000') } }, options),
  'splitting it': ({ writer, place }, creation) =>
    writer.changeEvent(
      { place, part: { type: 'following', ...member(4), ...creation }, change: { subject: 'Rest' } },
      options,
    ),
  'ending it': ({ writer, place }) =>
    writer.removeEvent({ place, part: { type: 'following', ...member(4) } }, options),
  'deleting an occurrence': ({ writer, place }) =>
    writer.removeEvent({ place, part: { type: 'member', ...member(3) } }, options),
  'deleting it': ({ writer, place }) => writer.removeEvent({ place, part: { type: 'all' } }, options),
  'answering an invitation': ({ writer, invited }) =>
    writer.respond({ place: invited, part: { type: 'all' }, response: 'accepted', comment: null }, options),
}

const failing = (work: Promise<unknown>): Promise<string | null> =>
  work.then(
    () => null,
    (error: unknown) => {
      if (error instanceof ProviderFailure) return error.kind
      throw error
    },
  )

/** Breaks the connection at a request, before the server reads it or after it has done it. */
function breakingOff(nth: number, loses: 'request' | 'answer') {
  let requests = 0
  return {
    count: () => requests,
    answers(request: IncomingMessage, response: ServerResponse): boolean {
      requests += 1
      if (requests !== nth) return answerOptions(request, response)
      if (loses === 'answer') response.writeHead = () => response.destroy()
      else response.destroy()
      return loses === 'request' || answerOptions(request, response)
    },
  }
}

test.each(Object.keys(WRITES))(
  '%s is whole after another try, wherever the first was broken off',
  async name => {
    const write = WRITES[name]!
    await using whole = await open()
    await write(whole, { creationId: randomUUID(), mayExist: false })
    const expected = await whole.truth()
    for (const loses of ['request', 'answer'] as const)
      for (let nth = 1; ; nth += 1) {
        await using opened = await open()
        const creationId = randomUUID()
        const breaking = breakingOff(nth, loses)
        opened.dav.oddities = { answers: breaking.answers }
        const failure = await failing(write(opened, { creationId, mayExist: false }))
        opened.dav.oddities = { answers: answerOptions }
        // The first try may have taken what the second one looks for.
        if (failure !== null) await failing(write(opened, { creationId, mayExist: true }))
        expect(await opened.truth(), `${loses} ${nth} lost: ${failure}`).toEqual(expected)
        if (breaking.count() < nth) break
      }
  },
)
