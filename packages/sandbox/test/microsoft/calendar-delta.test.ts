import { expect, test } from 'vitest'
import type { User } from '../../src/world/users.ts'
import type { Parsed } from '../read-answer.ts'
import type { Validate } from '../published-types.ts'
import type { Answers } from './answers.ts'
import { IMMUTABLE } from './client.ts'
import { hour, IN_BERLIN, makeEvent, recurrenceOf, series } from './make-event.ts'
import { useGraph } from './use-graph.ts'
import { openGraphValidation } from './validation.ts'

const validate: Validate<Answers> = openGraphValidation()
const graph = useGraph()

const DECEMBER = 'startDateTime=2026-12-01T00:00:00Z&endDateTime=2027-01-01T00:00:00Z'
const START = `calendarView/delta?${DECEMBER}`
const follow = (user: User, from = START, headers: Record<string, string> = IMMUTABLE) =>
  graph.deltaFrom(user, from, headers)
const idsOf = (items: Parsed[]) => items.map(({ id }) => id)

test('reports events of the time, and occurrences by a few properties', async () => {
  const eva = graph.addUser('eva@office.test')
  await makeEvent(graph, eva, hour('2026-11-01'))
  const single = await makeEvent(graph, eva, hour('2026-12-02'))
  const master = await makeEvent(graph, eva, series('2026-11-20', { type: 'daily' }, 20))
  const { items, pages } = await follow(eva)
  expect([items.length, pages]).toEqual([1 + 9, 1])
  for (const item of items) validate('event', item)
  expect(items[0]).toMatchObject({ id: single.id, type: 'singleInstance', subject: 'Talk' })
  for (const stub of items.slice(1)) {
    expect(Object.keys(stub).toSorted()).toEqual(
      ['@odata.etag', '@odata.type', 'end', 'id', 'seriesMasterId', 'start', 'type'].toSorted(),
    )
    expect(stub).toMatchObject({ type: 'occurrence', seriesMasterId: master.id })
  }
  graph.mail.configure({ seriesMasters: 'told' })
  expect(idsOf((await follow(eva)).items)).toEqual([single.id, master.id, ...idsOf(items.slice(1))])
})

test('reports what changed since a link, each event once', async () => {
  const eva = graph.addUser('eva@office.test')
  const made = []
  for (let day = 1; day <= 12; day += 1)
    made.push(await makeEvent(graph, eva, hour(`2026-12-${String(day).padStart(2, '0')}`)))
  const first = await follow(eva)
  expect([first.items.length, first.pages]).toEqual([12, 2])
  const [one, two, three] = made
  const path = (event: Parsed) => `events/${event.id}`
  await graph.ask(eva, 'PATCH', path(one), { showAs: 'free' })
  await graph.ask(eva, 'PATCH', path(one), { subject: 'Renamed' })
  await graph.ask(eva, 'DELETE', path(two))
  await graph.ask(eva, 'PATCH', path(three), hour('2027-02-01'))
  const added = await makeEvent(graph, eva, hour('2026-12-24'))
  const gone = await makeEvent(graph, eva, hour('2026-12-25'))
  await graph.ask(eva, 'DELETE', path(gone))
  const later = await follow(eva, first.link)
  expect(later.items).toMatchObject([
    { id: one.id, subject: 'Renamed', showAs: 'free' },
    { id: two.id, '@removed': { reason: 'deleted' } },
    { id: three.id, '@removed': { reason: 'deleted' } },
    { id: added.id },
  ])
  expect((await graph.ask(eva, 'GET', path(three))).status).toBe(200)
  expect((await follow(eva, later.link)).items).toEqual([])
  graph.mail.configure({ leavers: 'empty' })
  expect((await follow(eva, first.link)).items[1]).toEqual({
    '@odata.type': '#microsoft.graph.event',
    id: two.id,
  })
})

test('reports an occurrence that differs, one that was deleted, and all of a series that changed', async () => {
  const eva = graph.addUser('eva@office.test')
  const master = await makeEvent(graph, eva, series('2026-12-01', { type: 'daily' }))
  const { items, link } = await follow(eva)
  const [first, second] = idsOf(items)
  await graph.ask(eva, 'PATCH', `events/${first}`, { subject: 'Once' })
  await graph.ask(eva, 'DELETE', `events/${second}`)
  const later = await follow(eva, link)
  expect(later.items).toMatchObject([
    { id: second, '@removed': { reason: 'deleted' } },
    { id: first, type: 'exception', subject: 'Once', seriesMasterId: master.id },
  ])
  await graph.ask(eva, 'PATCH', `events/${master.id}`, { subject: 'All' })
  const all = await follow(eva, later.link)
  expect(all.items.map(({ type }) => type)).toEqual(['exception', 'occurrence', 'occurrence', 'occurrence'])
  await graph.ask(eva, 'DELETE', `events/${master.id}`)
  expect((await follow(eva, all.link)).items.map(item => '@removed' in item)).toEqual([
    true,
    true,
    true,
    true,
  ])
})

test('keeps the rows of a round while events change', async () => {
  const eva = graph.addUser('eva@office.test')
  const made = []
  for (let day = 1; day <= 25; day += 1)
    made.push(await makeEvent(graph, eva, hour(`2026-12-${String(day).padStart(2, '0')}`)))
  const page = (await graph.ask(eva, 'GET', START, undefined, IMMUTABLE)).data
  await graph.ask(eva, 'DELETE', `events/${made[0].id}`)
  const rest = await follow(eva, page['@odata.nextLink'])
  expect([...idsOf(page.value), ...idsOf(rest.items)]).toEqual(idsOf(made))
  expect((await follow(eva, rest.link)).items).toMatchObject([{ id: made[0].id, '@removed': {} }])
})

test('follows other calendars, unless only the default one has a delta', async () => {
  const eva = graph.addUser('eva@office.test')
  const { data } = await graph.ask(eva, 'POST', 'calendars', { name: 'Travel' })
  const path = `calendars/${data.id}/calendarView/delta?${DECEMBER}`
  const { link } = await follow(eva, path)
  const { id } = await makeEvent(graph, eva, hour('2026-12-01'), `calendars/${data.id}/events`)
  expect(idsOf((await follow(eva, link)).items)).toEqual([id])
  expect((await follow(eva)).items).toEqual([])
  graph.mail.configure({ calendarDeltas: 'default' })
  expect((await graph.ask(eva, 'GET', path)).status).toBe(400)
  expect((await graph.ask(eva, 'GET', START)).status).toBe(200)
})

test('refuses links that expired or are of another calendar, and options that deltas do not take', async () => {
  const eva = graph.addUser('eva@office.test')
  const { link } = await follow(eva)
  const { data } = await graph.ask(eva, 'POST', 'calendars', { name: 'Travel' })
  const other = new URL(link)
  other.pathname = `/v1.0/me/calendars/${data.id}/calendarView/delta`
  expect((await graph.ask(eva, 'GET', other.href, undefined, IMMUTABLE)).status).toBe(400)
  expect((await graph.ask(eva, 'GET', `${START}&$select=subject`)).status).toBe(400)
  expect((await graph.ask(eva, 'GET', 'calendarView/delta')).status).toBe(400)
  graph.mail.expire({ user: eva, at: 'delta' })
  const late = await graph.ask(eva, 'GET', link, undefined, IMMUTABLE)
  expect([late.status, late.data.error.code]).toEqual([410, 'SyncStateNotFound'])
})

test('ends with the calendar view, whatever changed', async () => {
  const eva = graph.addUser('eva@office.test')
  const held = new Map<string, Parsed>()
  let link = START
  const apply = async () => {
    const round = await follow(eva, link, { ...IN_BERLIN })
    link = round.link
    for (const item of round.items) {
      if (item['@removed']) held.delete(item.id)
      else held.set(item.id, item.start)
    }
  }
  const master = await makeEvent(
    graph,
    eva,
    series('2026-12-01', { type: 'weekly', daysOfWeek: ['monday', 'thursday'] }, 30),
  )
  const single = await makeEvent(graph, eva, hour('2026-12-05'))
  const view = async (): Promise<Parsed[]> =>
    (await graph.ask(eva, 'GET', `calendarView?${DECEMBER}&$top=100`, undefined, IN_BERLIN)).data.value
  const steps = [
    async () => graph.ask(eva, 'PATCH', `events/${(await view())[2]?.id}`, hour('2026-12-09', 20)),
    async () => graph.ask(eva, 'DELETE', `events/${(await view())[4]?.id}`),
    async () =>
      graph.ask(eva, 'PATCH', `events/${single.id}`, {
        recurrence: recurrenceOf('2026-12-05', { type: 'daily' }, 4),
      }),
    async () => graph.ask(eva, 'PATCH', `events/${master.id}`, hour('2026-12-03', 7)),
    async () => graph.ask(eva, 'PATCH', `events/${single.id}`, { recurrence: null }),
    async () => graph.ask(eva, 'DELETE', `events/${master.id}`),
  ]
  for (const step of steps) {
    await apply()
    expect((await step()).status).toBeLessThan(300)
    await apply()
    const shown = (await view()).map(({ id, start }) => [id, start] as const)
    expect(new Map([...held].toSorted())).toEqual(new Map(shown.toSorted()))
  }
})
