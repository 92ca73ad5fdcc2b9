import { expect, test } from 'vitest'
import type { Validate } from '../published-types.ts'
import type { Answers } from './answers.ts'
import { IMMUTABLE } from './client.ts'
import { at, BERLIN, hour, IN_BERLIN, makeEvent, series, startsOf } from './make-event.ts'
import { useGraph } from './use-graph.ts'
import { openGraphValidation } from './validation.ts'

const validate: Validate<Answers> = openGraphValidation()
const graph = useGraph()
const MARK = 'String {00020329-0000-0000-c000-000000000046} Name Mark'

const names = (answer: { data: { value: { name: string }[] } }) => answer.data.value.map(({ name }) => name)

test("answers calendars and a lively week in Microsoft's own types", async () => {
  const eva = graph.addUser('eva@office.test', 20)
  const calendars = (await graph.ask(eva, 'GET', 'calendars')).data.value
  expect(calendars).toMatchObject([
    { name: 'Calendar', isDefaultCalendar: true, canEdit: true, isRemovable: false, hexColor: '' },
    { name: 'Personal', color: 'lightTeal', hexColor: '#4fd8cd', owner: { address: 'eva@office.test' } },
  ])
  for (const calendar of calendars) validate('calendar', calendar)
  const events = (await graph.ask(eva, 'GET', 'events?$top=50')).data.value
  for (const event of events) validate('event', event)
  const now = graph.clock.now()
  const [from, to] = [now - 8 * 86_400_000, now + 8 * 86_400_000].map(time => new Date(time).toISOString())
  const query = `startDateTime=${from}&endDateTime=${to}&$top=100`
  const view = (await graph.ask(eva, 'GET', `calendarView?${query}`)).data.value
  for (const event of view) validate('event', event)
  const types = view.map(({ type }: { type: string }) => type)
  expect(new Set(types)).toEqual(new Set(['singleInstance', 'occurrence', 'exception']))
  expect(view.find(({ subject }: { subject: string }) => subject === 'Planning')).toMatchObject({
    isOnlineMeeting: true,
    onlineMeeting: { joinUrl: expect.stringMatching(/^https:\/\/teams\.microsoft\.com\//) },
    attendees: [{ status: { response: 'accepted' } }],
  })
})

test('makes, renames, colors and deletes calendars, but not the default one', async () => {
  const eva = graph.addUser('eva@office.test')
  const made = await graph.ask(eva, 'POST', 'calendars', { name: 'Travel', color: 'lightRed' })
  validate('calendar', made.data)
  expect((await graph.ask(eva, 'POST', 'calendars', { name: 'travel' })).status).toBe(409)
  const path = `calendars/${made.data.id}`
  const changed = await graph.ask(eva, 'PATCH', path, { name: 'Trips', color: 'lightGreen' })
  expect(changed.data).toMatchObject({ name: 'Trips', color: 'lightGreen', hexColor: '#87d28e' })
  expect(changed.data.changeKey).not.toBe(made.data.changeKey)
  expect((await graph.ask(eva, 'PATCH', path, { color: 'purple' })).status).toBe(400)
  const event = await makeEvent(graph, eva, hour('2026-12-01'), `${path}/events`)
  expect(names(await graph.ask(eva, 'GET', "calendars?$filter=name eq 'Trips'"))).toEqual(['Trips'])
  expect((await graph.ask(eva, 'DELETE', path)).status).toBe(204)
  expect(names(await graph.ask(eva, 'GET', 'calendars'))).toEqual(['Calendar'])
  expect((await graph.ask(eva, 'GET', `events/${event.id}`)).status).toBe(404)
  expect((await graph.ask(eva, 'DELETE', 'calendar')).status).toBe(403)
})

test('keeps extended properties of calendars, which an expansion shows', async () => {
  const eva = graph.addUser('eva@office.test')
  const singleValueExtendedProperties = [{ id: MARK, value: 'one' }]
  const made = await graph.ask(eva, 'POST', 'calendars', { name: 'Travel', singleValueExtendedProperties })
  expect(made.data).not.toHaveProperty('singleValueExtendedProperties')
  const path = `calendars/${made.data.id}`
  const expand = `$select=id&$expand=singleValueExtendedProperties($filter=id eq '${MARK}')`
  const read = async (of: string) => (await graph.ask(eva, 'GET', `${of}?${expand}`)).data
  expect(await read(path)).toMatchObject({ id: made.data.id, singleValueExtendedProperties })
  expect(await read('calendar')).not.toHaveProperty('singleValueExtendedProperties')
  const changed = [{ id: MARK, value: 'two' }]
  await graph.ask(eva, 'PATCH', path, { singleValueExtendedProperties: changed })
  expect(await read(path)).toMatchObject({ singleValueExtendedProperties: changed })
})

test('shows times in the zone that is preferred, by a Windows or an IANA name', async () => {
  const eva = graph.addUser('eva@office.test')
  const { id, start } = await makeEvent(graph, eva, hour('2026-07-01'))
  expect(start).toEqual({ dateTime: '2026-07-01T07:00:00.0000000', timeZone: 'UTC' })
  const asked = async (zone: string) => {
    const prefer = `outlook.timezone="${zone}"`
    return graph.ask(eva, 'GET', `events/${id}?$select=start,originalStartTimeZone`, undefined, { prefer })
  }
  expect((await asked('Europe/Berlin')).data).toMatchObject({
    start: { dateTime: '2026-07-01T09:00:00.0000000', timeZone: 'Europe/Berlin' },
    originalStartTimeZone: BERLIN,
  })
  expect((await asked('Eastern Standard Time')).data.start.dateTime).toBe('2026-07-01T03:00:00.0000000')
  const refused = await asked('Middle-earth Standard Time')
  expect([refused.status, refused.data.error.code]).toEqual([400, 'TimeZoneNotSupportedException'])
})

test('keeps whole days as they are in any zone', async () => {
  const eva = graph.addUser('eva@office.test')
  const days = {
    subject: 'Days',
    isAllDay: true,
    start: at('2026-12-24T00:00:00'),
    end: at('2026-12-27T00:00:00'),
  }
  const { id } = await makeEvent(graph, eva, days)
  const prefer = 'outlook.timezone="Pacific Standard Time"'
  expect((await graph.ask(eva, 'GET', `events/${id}`, undefined, { prefer })).data).toMatchObject({
    isAllDay: true,
    start: { dateTime: '2026-12-24T00:00:00.0000000' },
    end: { dateTime: '2026-12-27T00:00:00.0000000' },
  })
})

test.each([
  [{ isAllDay: true, start: at('2026-12-24T09:00:00'), end: at('2026-12-25T00:00:00') }, 'midnight'],
  [{ isAllDay: true, start: at('2026-12-24T00:00:00'), end: at('2026-12-24T00:00:00') }, '24 hours'],
  [{ start: at('2026-12-24T09:00:00'), end: at('2026-12-24T08:00:00') }, 'before its start'],
  [{ start: at('2026-12-24T09:00:00') }, 'no end'],
  [{ showAs: 'away' }, 'Cannot convert'],
  [{ mood: 'good' }, "The property 'mood' does not exist"],
  [
    {
      attendees: Array.from({ length: 501 }, (_, index) => ({
        emailAddress: { address: `a${index}@b.test` },
      })),
    },
    '501',
  ],
  [{ ...series('2026-12-01', { type: 'weekly' }) }, 'pattern is not valid'],
  [{ ...series('2026-12-01', { type: 'daily', interval: 0 }) }, 'pattern is not valid'],
])('refuses %j', async (fields, message) => {
  const eva = graph.addUser('eva@office.test')
  const whole = 'start' in fields ? fields : { ...hour('2026-12-01'), ...fields }
  const { status, data } = await graph.ask(eva, 'POST', 'events', { subject: 'x', ...whole })
  expect(status).toBe(400)
  expect(data.error.message).toContain(message)
})

test('answers the body as HTML, or as text if that is preferred', async () => {
  const eva = graph.addUser('eva@office.test')
  const body = { contentType: 'html', content: '<p>Agenda: <b>plans</b> &amp; budget</p>' }
  const { id } = await makeEvent(graph, eva, { ...hour('2026-12-01'), body })
  expect((await graph.ask(eva, 'GET', `events/${id}`)).data).toMatchObject({
    body,
    bodyPreview: 'Agenda: plans & budget',
  })
  const prefer = 'outlook.body-content-type="text"'
  expect((await graph.ask(eva, 'GET', `events/${id}`, undefined, { prefer })).data.body).toEqual({
    contentType: 'text',
    content: 'Agenda: plans & budget',
  })
})

test('refuses a change of another version, and a transaction of another request', async () => {
  const eva = graph.addUser('eva@office.test')
  const made = await makeEvent(graph, eva, { ...hour('2026-12-01'), transactionId: 'once' })
  const again = await graph.ask(eva, 'POST', 'events', { ...hour('2026-12-01'), transactionId: 'once' })
  expect([again.status, again.data.iCalUId]).toEqual([201, made.iCalUId])
  const other = await graph.ask(eva, 'POST', 'events', { ...hour('2026-12-02'), transactionId: 'once' })
  expect([other.status, other.data.error.code]).toEqual([409, 'ErrorDuplicateTransactionId'])
  const since = { 'if-match': made['@odata.etag'] }
  const path = `events/${made.id}`
  const changed = await graph.ask(eva, 'PATCH', path, { subject: 'A' }, since)
  expect([changed.status, changed.data.subject]).toEqual([200, 'A'])
  expect((await graph.ask(eva, 'PATCH', path, { subject: 'B' }, since)).status).toBe(412)
  expect((await graph.ask(eva, 'DELETE', path, undefined, since)).status).toBe(412)
  expect((await graph.ask(eva, 'DELETE', path)).status).toBe(204)
  expect((await graph.ask(eva, 'GET', path)).status).toBe(404)
})

test('finds events by an extended property, by their times, in an order and in pages', async () => {
  const eva = graph.addUser('eva@office.test')
  for (const [index, day] of ['2026-12-03', '2026-12-01', '2026-12-02'].entries())
    await makeEvent(graph, eva, {
      ...hour(day),
      subject: day,
      singleValueExtendedProperties: [{ id: MARK, value: `mark ${index}` }],
    })
  const asked = async (query: string) =>
    (await graph.ask(eva, 'GET', `events?${query}`)).data.value.map(
      ({ subject }: { subject: string }) => subject,
    )
  const marked = `$filter=singleValueExtendedProperties/Any(ep: ep/id eq '${MARK}' and ep/value eq 'mark 1')`
  expect(await asked(marked)).toEqual(['2026-12-01'])
  expect(await asked("$filter=start/dateTime ge '2026-12-02T00:00:00'&$orderby=start/dateTime")).toEqual([
    '2026-12-02',
    '2026-12-03',
  ])
  const first = await graph.ask(eva, 'GET', 'events?$orderby=start/dateTime&$top=2&$count=true')
  expect(first.data['@odata.count']).toBe(3)
  expect((await graph.ask(eva, 'GET', first.data['@odata.nextLink'])).data.value).toMatchObject([
    { subject: '2026-12-03' },
  ])
})

test.each([
  [
    'daily',
    '2027-03-26',
    { type: 'daily', interval: 2 },
    ['2027-03-26', '2027-03-28', '2027-03-30', '2027-04-01', '2027-04-03'],
  ],
  [
    'on two days of every second week',
    '2026-12-01',
    { type: 'weekly', interval: 2, daysOfWeek: ['tuesday', 'sunday'], firstDayOfWeek: 'monday' },
    ['2026-12-01', '2026-12-06', '2026-12-15', '2026-12-20', '2026-12-29'],
  ],
  [
    'on the 31st, which is the last day of a shorter month',
    '2027-01-31',
    { type: 'absoluteMonthly', dayOfMonth: 31 },
    ['2027-01-31', '2027-02-28', '2027-03-31', '2027-04-30', '2027-05-31'],
  ],
  [
    'on the last Friday',
    '2027-01-29',
    { type: 'relativeMonthly', daysOfWeek: ['friday'], index: 'last' },
    ['2027-01-29', '2027-02-26', '2027-03-26', '2027-04-30', '2027-05-28'],
  ],
  [
    'on 29 February, which is the 28th in other years',
    '2028-02-29',
    { type: 'absoluteYearly', month: 2, dayOfMonth: 29 },
    ['2028-02-29', '2029-02-28', '2030-02-28', '2031-02-28', '2032-02-29'],
  ],
  [
    'on the second weekday of March',
    '2027-03-02',
    {
      type: 'relativeYearly',
      month: 3,
      index: 'second',
      daysOfWeek: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday'],
    },
    ['2027-03-02', '2028-03-02', '2029-03-02', '2030-03-04', '2031-03-04'],
  ],
])('repeats an event %s', async (_, startDate, pattern, dates) => {
  const eva = graph.addUser('eva@office.test')
  const { id, type } = await makeEvent(graph, eva, series(startDate, pattern))
  expect(type).toBe('seriesMaster')
  expect(await startsOf(graph, eva, id, '2030-12-31')).toEqual(
    dates.filter(date => date < '2030-12-31').map(date => `${date}T09:00`),
  )
})

test('moves a series to the first day that fits its pattern', async () => {
  const eva = graph.addUser('eva@office.test')
  const { id } = await makeEvent(
    graph,
    eva,
    series('2026-12-01', { type: 'weekly', daysOfWeek: ['friday'] }, 2),
  )
  expect(await startsOf(graph, eva, id)).toEqual(['2026-12-04T09:00', '2026-12-11T09:00'])
})

test('keeps the id of an occurrence that differs, and drops one that was deleted', async () => {
  const eva = graph.addUser('eva@office.test')
  const weekly = series('2027-03-15', { type: 'weekly', daysOfWeek: ['monday'] })
  const master = await makeEvent(graph, eva, weekly)
  const query = 'startDateTime=2027-01-01T00:00:00Z&endDateTime=2028-01-01T00:00:00Z'
  const list = async () =>
    (await graph.ask(eva, 'GET', `events/${master.id}/instances?${query}`, undefined, IN_BERLIN)).data.value
  const [first, , third, fourth] = await list()
  expect(first).toMatchObject({ type: 'occurrence', seriesMasterId: master.id, recurrence: null })
  expect(third.originalStart).toBe('2027-03-29T07:00:00Z')
  expect(new Set((await list()).map(({ iCalUId }: { iCalUId: string }) => iCalUId)).size).toBe(5)

  const changed = await graph.ask(
    eva,
    'PATCH',
    `events/${third.id}`,
    { subject: 'Once', start: at('2027-03-30T10:00:00'), end: at('2027-03-30T11:00:00') },
    IMMUTABLE,
  )
  expect(changed.data).toMatchObject({
    id: third.id,
    type: 'exception',
    originalStart: '2027-03-29T07:00:00Z',
  })
  expect((await graph.ask(eva, 'DELETE', `events/${fourth.id}`)).status).toBe(204)
  expect((await graph.ask(eva, 'GET', `events/${fourth.id}`)).status).toBe(404)
  const now = await list()
  expect(now.map(({ subject }: { subject: string }) => subject)).toEqual(['Talk', 'Talk', 'Once', 'Talk'])
  const after = (await graph.ask(eva, 'GET', `events/${master.id}`, undefined, IMMUTABLE)).data
  expect(after.changeKey).not.toBe(master.changeKey)

  const lists = `events/${master.id}?$select=cancelledOccurrences&$expand=exceptionOccurrences`
  const listed = (await graph.ask(eva, 'GET', lists, undefined, IMMUTABLE)).data
  validate('event', listed)
  expect(listed).toMatchObject({
    cancelledOccurrences: [`OID.${master.id}.2027-04-05`],
    exceptionOccurrences: [{ id: third.id }],
  })

  await graph.ask(eva, 'PATCH', `events/${master.id}`, { ...hour('2027-03-15', 14) })
  expect(await startsOf(graph, eva, master.id)).toEqual(
    ['03-15', '03-22', '03-29', '04-05', '04-12'].map(day => `2027-${day}T14:00`),
  )
})

test('keeps an occurrence between its neighbours', async () => {
  const eva = graph.addUser('eva@office.test')
  const master = await makeEvent(graph, eva, series('2026-12-01', { type: 'daily' }))
  const query = 'startDateTime=2026-12-01T00:00:00Z&endDateTime=2027-01-01T00:00:00Z'
  const { data } = await graph.ask(eva, 'GET', `events/${master.id}/instances?${query}`)
  const move = (day: string) => graph.ask(eva, 'PATCH', `events/${data.value[1].id}`, hour(day, 16))
  for (const day of ['2026-12-01', '2026-12-03']) {
    const { status, data: answer } = await move(day)
    expect([status, answer.error.code]).toEqual([400, 'ErrorOccurrenceCrossingBoundary'])
  }
  expect((await move('2026-12-02')).status).toBe(200)
})

test('lists what takes place in a time, and refuses a view without one', async () => {
  const eva = graph.addUser('eva@office.test')
  await makeEvent(graph, eva, hour('2026-12-01'))
  const view = (query: string) => graph.ask(eva, 'GET', `calendarView?${query}`)
  const of = (start: string, end: string) => view(`startDateTime=${start}&endDateTime=${end}`)
  const count = async (start: string, end: string) => (await of(start, end)).data.value.length
  expect(await count('2026-12-01T09:00:00%2B01:00', '2026-12-01T10:00:00%2B01:00')).toBe(1)
  expect(await count('2026-12-01T09:00:00', '2026-12-01T10:00:00')).toBe(0)
  expect(await count('2026-12-01T08:59:59Z', '2026-12-02T00:00:00Z')).toBe(1)
  expect((await view('')).status).toBe(400)
  const wide = await of('2026-01-01', '2032-01-01')
  expect([wide.status, wide.data.error.code]).toEqual([400, 'ErrorCalendarViewRangeTooBig'])
})

test('needs a scope of calendars, and one that writes for a change', async () => {
  const eva = graph.addUser('eva@office.test')
  const status = async (method: string, scopes: string[]) =>
    (await graph.ask(eva, method, 'events', method === 'POST' ? hour('2026-12-01') : undefined, {}, scopes))
      .status
  expect(await status('GET', ['Mail.ReadWrite'])).toBe(403)
  expect(await status('GET', ['Calendars.Read'])).toBe(200)
  expect(await status('POST', ['Calendars.Read'])).toBe(403)
  expect(await status('POST', ['Calendars.ReadWrite'])).toBe(201)
})

test.each(['gcc-high', 'china'])('has no lists of exceptions in %s', async cloud => {
  const hugo = graph.addUser('hugo@agency.test', 0, cloud)
  const { id } = await makeEvent(graph, hugo, series('2026-12-01', { type: 'daily' }))
  expect((await graph.ask(hugo, 'GET', `events/${id}?$select=cancelledOccurrences`)).status).toBe(400)
  expect((await graph.ask(hugo, 'GET', `events/${id}?$expand=exceptionOccurrences`)).status).toBe(400)
})

test('a recurrence is changed together with other fields', async () => {
  const eva = graph.addUser('eva@office.test')
  const { id, recurrence } = await makeEvent(graph, eva, series('2026-12-01', { type: 'daily' }))
  const range = { type: 'noEnd', startDate: '2026-12-01' }
  const changes = { subject: 'Renamed', recurrence: { ...recurrence, range } }
  const { data } = await graph.ask(eva, 'PATCH', `events/${id}`, changes, IMMUTABLE)
  expect(data).toMatchObject({ subject: 'Renamed', recurrence: { range: { type: 'noEnd' } } })
})
