import { addCalendar } from '../../../../../../sandbox/src/microsoft/mailbox/calendars.ts'
import type { EventFields } from '../../../../../../sandbox/src/microsoft/mailbox/event.ts'
import {
  changeEvent as changeOther,
  changeOccurrence as changeOtherOccurrence,
} from '../../../../../../sandbox/src/microsoft/mailbox/events.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dayOfWall, timesOf } from '../../../../../test/graph/arrange-calendars.ts'
import {
  ADA,
  at,
  creation,
  failing,
  openWriting,
  series,
} from '../../../../../test/graph/calendar-writing.ts'
import { type GraphServer, startGraph } from '../../../../../test/graph/graph-server.ts'
import { toWall } from '../../../../kit/zones/zones.ts'

let server: GraphServer

beforeAll(async () => {
  server = await startGraph()
})
afterAll(() => server[Symbol.asyncDispose]())

const FILES = [{ name: 'plan.pdf', size: 3 }]
const isMember = (path: string) => /\/events\/[^/?]+$/.test(path)
const refusal = (status: number, code: string) => Response.json({ error: { code } }, { status })

/** A series on six Tuesdays from 1 December at 9:00. */
async function opened() {
  const arranged = await openWriting(server)
  const { create, event, mailbox, change } = arranged
  const { key } = await create({ recurrence: series('FREQ=WEEKLY;COUNT=6') })
  const member = (day: string) => ({ type: 'member', member: `${day}T090000`, memberKey: null }) as const
  /** Another client changes a member. */
  const except = (day: string, fields: Partial<EventFields>) =>
    void changeOtherOccurrence(mailbox, mailbox.calendars.main, event(key), { day: dayOfWall(day), fields })
  /** Exceptions by their days, with what is their own. */
  const exceptions = () =>
    [...event(key).exceptions.values()].map(({ fields: { start, subject } }) => [
      start && 'at' in start ? toWall(start.at, 'Europe/Berlin') : null,
      subject,
    ])
  const shift = () => change(key, { start: at('20261201T100000') })
  return { ...arranged, key, member, except, exceptions, shift }
}

describe('an exception', () => {
  test('that was written in another zone keeps its time', async () => {
    const { change, key, member, exceptions, shift, writer, options, calendarKey } = await opened()
    await change(key, { start: { wall: '20261208T093000', zone: 'America/New_York' } }, member('20261208'))
    const part = { ...member('20261222'), type: 'following' } as const
    await writer.removeEvent({ place: { calendarKey, key }, part }, options)
    expect(exceptions()).toEqual([['20261208T153000', undefined]])
    await shift()
    expect(exceptions()).toEqual([['20261208T163000', undefined]])
  })

  test('keeps its attendees and places', async () => {
    const { event, key, except, shift } = await opened()
    const status = { response: 'none', at: null } as const
    const locations = [{ displayName: 'Room 4' }, { displayName: 'Room 5' }]
    except('20261208', { attendees: [{ ...ADA, status }], locations })
    await shift()
    const [exception] = event(key).exceptions.values()
    expect(exception?.fields).toMatchObject({ attendees: [{ address: ADA.address }], locations })
  })

  test('with attendees is told, or nothing is written', async () => {
    const { writer, options, calendarKey, key, mailbox, except, event } = await opened()
    except('20261208', { attendees: [{ ...ADA, status: { response: 'none', at: null } }] })
    const before = event(key)
    const place = { calendarKey, key }
    const silent = { ...options, notify: false }
    const change = { start: at('20261201T100000') }
    const part = { type: 'all', timesOf: null } as const
    expect(await failing(writer.changeEvent({ place, part, change }, silent))).toBe('unsupported')
    expect(await failing(writer.removeEvent({ place, part: { type: 'all' } }, silent))).toBe('unsupported')
    const toCalendarKey = addCalendar(mailbox, 'Travel', 'auto').id
    expect(await failing(writer.moveEvent({ place, toCalendarKey, ...creation() }, options))).toBe(
      'unsupported',
    )
    expect(event(key)).toBe(before)
  })

  test('with attachments of its own is not written again', async () => {
    const { change, key, member, mailbox, except, shift, event } = await opened()
    except('20261208', { attachments: FILES })
    const before = event(key)
    expect(await failing(shift())).toBe('unsupported')
    const following = { ...member('20261208'), type: 'following', ...creation() } as const
    expect(await failing(change(key, { subject: 'New' }, following))).toBe('unsupported')
    expect(event(key)).toBe(before)
    changeOther(mailbox, mailbox.calendars.main, before, { attachments: FILES })
    await shift()
    expect(event(key).exceptions.size).toBe(0)
  })

  test('with more text than can be kept is not written again', async () => {
    const { except, shift, key, event } = await opened()
    except('20261208', { body: { contentType: 'html', content: 'x'.repeat(40_000) } })
    const before = event(key)
    expect(await failing(shift())).toBe('unsupported')
    expect(event(key)).toBe(before)
  })

  test('that is the first occurrence, and takes place long before it, stays', async () => {
    const { except, shift, key, event, exceptions } = await opened()
    except('20261201', { subject: 'Early', ...timesOf('20261028T090000', '20261028T100000') })
    await shift()
    expect(event(key).deleted.size).toBe(0)
    expect(exceptions()).toEqual([['20261028T100000', 'Early']])
  })

  test('takes its day once the one after it has left it', async () => {
    const { change, key, member, exceptions, shift } = await opened()
    await change(key, { subject: 'B', start: at('20261210T090000') }, member('20261208'))
    await change(key, { subject: 'A', start: at('20261209T090000') }, member('20261201'))
    await shift()
    expect(exceptions().toSorted()).toEqual([
      ['20261209T100000', 'A'],
      ['20261210T100000', 'B'],
    ])
  })

  test('keeps what Exchange does not refuse', async () => {
    const { change, key, member, exceptions, shift } = await opened()
    await change(key, { subject: 'Own', start: at('20261209T090000') }, member('20261208'))
    let refusals = 1
    server.intercept = ({ method, path }) =>
      method === 'PATCH' && isMember(path) && !path.includes(encodeURIComponent(key)) && refusals-- > 0
        ? refusal(400, 'ErrorOccurrenceCrossingBoundary')
        : null
    await shift()
    server.intercept = null
    expect(exceptions()).toEqual([[null, 'Own']])
  })
})

describe('a change of a series', () => {
  test('is made once, although Exchange refuses a call for one member for a while', async () => {
    const { create, change, event } = await opened()
    const { key } = await create({ recurrence: series('FREQ=DAILY;COUNT=6', ['20261204T090000']) })
    const timesOf2 = { member: '20261202T090000', memberKey: null, seriesStart: null }
    await change(key, { subject: 'Own' }, { type: 'member', ...timesOf2 })
    let refusals = 0
    server.intercept = ({ method, path }) =>
      (method === 'PATCH' || method === 'DELETE') &&
      isMember(path) &&
      !path.includes(encodeURIComponent(key)) &&
      (refusals += 1) % 2 === 1
        ? refusal(412, 'ErrorIrresolvableConflict')
        : null
    await change(key, { start: at('20261203T090000') }, { type: 'all', timesOf: timesOf2 })
    server.intercept = null
    expect(refusals).toBe(4)
    const { start, deleted, exceptions } = event(key)
    expect(start).toMatchObject({ at: Date.UTC(2026, 11, 2, 8) })
    expect([[...deleted], [...exceptions.keys()]]).toEqual([[dayOfWall('20261205')], [dayOfWall('20261203')]])
  })

  test('that stopped at a member does not read as if nothing was changed', async () => {
    const { change, key, member, shift, exceptions } = await opened()
    await change(key, { subject: 'Own' }, member('20261208'))
    server.intercept = ({ method, path }) =>
      method === 'PATCH' && isMember(path) && !path.includes(encodeURIComponent(key))
        ? refusal(412, 'ErrorIrresolvableConflict')
        : null
    expect(await failing(shift())).toBe('unavailable')
    server.intercept = null
    expect(exceptions()).toEqual([])
    await shift()
    expect(exceptions()).toEqual([[null, 'Own']])
  })

  test('that stopped is ended by a change without fields, which tells nobody', async () => {
    const { change, key, member, shift, exceptions, mailbox, event, ...others } = await opened()
    await change(key, { subject: 'Own' }, member('20261208'))
    server.intercept = ({ method, path }) =>
      method === 'PATCH' && isMember(path) && !path.includes(encodeURIComponent(key))
        ? refusal(500, 'ErrorItemSave')
        : null
    expect(await failing(shift())).toBe('unavailable')
    server.intercept = null
    const attendees = [{ ...ADA, status: { response: 'none', at: null } }] as const
    changeOther(mailbox, mailbox.calendars.main, event(key), { attendees })
    const { writer, options, calendarKey } = others
    const nothing = { part: { type: 'all', timesOf: null }, change: {} } as const
    await writer.changeEvent({ place: { calendarKey, key }, ...nothing }, { ...options, notify: false })
    expect(exceptions()).toEqual([[null, 'Own']])
  })

  test('is made silently where nobody but the account is invited', async () => {
    const { mailbox, email, event, key, writer, options, calendarKey } = await opened()
    const status = { response: 'none', at: null } as const
    const attendees = [{ ...ADA, address: email, status }]
    changeOther(mailbox, mailbox.calendars.main, event(key), { attendees })
    const asked = { part: { type: 'all', timesOf: null }, change: { subject: 'New' } } as const
    await writer.changeEvent({ place: { calendarKey, key }, ...asked }, { ...options, notify: false })
    expect(event(key).subject).toBe('New')
  })

  test.each(['Outlook', 'Waxwing'])('that stopped does not undo what %s changed since then', async client => {
    const { create, change, event, mailbox } = await opened()
    const { key } = await create({ recurrence: series('FREQ=WEEKLY;COUNT=6', ['20261222T090000']) })
    const part = (day: string) => ({ type: 'member', member: `${day}T110000`, memberKey: null }) as const
    await change(key, { subject: 'Once' }, { ...part('20261208'), member: '20261208T090000' })
    server.intercept = ({ method }) => (method === 'DELETE' ? refusal(500, 'ErrorItemSave') : null)
    expect(await failing(change(key, { start: at('20261201T110000') }))).toBe('unavailable')
    server.intercept = null
    server.clock.turn(2_000)
    const { main } = mailbox.calendars
    for (const day of ['20261208', '20261222']) {
      const fields = { subject: 'Right' }
      if (client === 'Waxwing' && day === '20261208') await change(key, fields, part(day))
      else if (client === 'Outlook')
        changeOtherOccurrence(mailbox, main, event(key), { day: dayOfWall(day), fields })
    }
    await change(key, { subject: 'Series' })
    const subjects = [...event(key).exceptions].map(([day, { fields }]) => [day, fields.subject])
    expect(subjects).toEqual(
      (client === 'Outlook' ? ['20261208', '20261222'] : ['20261208']).map(day => [dayOfWall(day), 'Right']),
    )
    expect(event(key).deleted.size).toBe(client === 'Outlook' ? 0 : 1)
  })
})
