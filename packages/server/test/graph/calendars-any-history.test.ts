import { expect, test } from 'vitest'
import { addCalendar } from '../../../sandbox/src/microsoft/mailbox/calendars.ts'
import type { StoredEvent } from '../../../sandbox/src/microsoft/mailbox/event.ts'
import {
  changeEvent,
  changeOccurrence,
  deleteOccurrence,
  removeEvent,
} from '../../../sandbox/src/microsoft/mailbox/events.ts'
import { expireLinks } from '../../../sandbox/src/microsoft/graph/delta-tokens.ts'
import { occurrencesIn } from '../../../sandbox/src/microsoft/mailbox/occurrences.ts'
import { toInstant } from '../../src/kit/zones/zones.ts'
import type { RemoteEvent, RemoteItem } from '../../src/providers/calendars.ts'
import { never } from '../../src/providers/conformance/arrangement.ts'
import { openEventIndex } from '../../src/providers/conformance/event-index.ts'
import { type Random, seeded } from '../seeded.ts'
import { useServer } from '../servers/shared-server.ts'
import { seedsFor } from '../sync/disturbance.ts'
import { arrangeCalendars, timesOf, weekly } from './arrange-calendars.ts'
import { startGraph } from './graph-server.ts'

const ROUNDS = 15
const WINDOW = { start: new Date('2026-09-01T00:00:00Z'), end: new Date('2027-11-29T00:00:00Z') }
const SPAN = { from: WINDOW.start.getTime(), to: WINDOW.end.getTime() }
const DAY_MS = 86_400_000
const server = useServer(startGraph)

/** Times in a year around the window, so that some events lie outside of it. */
function randomTimes(random: Random) {
  const day = new Date(Date.UTC(2026, 7, 15) + random.between(0, 500) * DAY_MS)
  const date = day.toISOString().slice(0, 10).replaceAll('-', '')
  if (random.chance(0.2)) {
    const next = new Date(day.getTime() + DAY_MS).toISOString().slice(0, 10).replaceAll('-', '')
    return { wall: date, times: timesOf(date, next) }
  }
  const hour = String(random.between(0, 21)).padStart(2, '0')
  const wall = `${date}T${hour}0000`
  return { wall, times: timesOf(wall, `${date}T${hour}4500`) }
}

/** The calendars of a mailbox that another client changes. */
function openOthers(arranged: ReturnType<typeof arrangeCalendars>, random: Random) {
  const { mailbox } = arranged
  const { main } = mailbox.calendars
  let count = 0
  const subject = () => ({ subject: `Event ${(count += 1)}` })
  const add = () => {
    const { wall, times } = randomTimes(random)
    const recurrence = random.chance(0.4) ? weekly(wall, random.between(1, 30)) : null
    arranged.addEvent({ ...subject(), ...times }, recurrence)
  }
  const dayOf = (event: StoredEvent): number | null => {
    const shown = occurrencesIn(mailbox, event, { from: 0, to: Date.UTC(2029, 0, 1) })
    return shown.length === 0 ? null : random.pick(shown).day
  }
  const changeSeries = (event: StoredEvent, day: number) => {
    if (random.chance(0.4)) deleteOccurrence(mailbox, main, event, day)
    else changeOccurrence(mailbox, main, event, { day, fields: subject() })
  }
  return {
    disturb() {
      const all = [...main.events.values()]
      const event = all.length === 0 ? null : random.pick(all)
      const kind = random.between(0, 12)
      const day = event && dayOf(event)
      if (event === null || kind < 4) add()
      else if (kind < 6) changeEvent(mailbox, main, event, subject())
      else if (kind < 8 && event.recurrence === null)
        changeEvent(mailbox, main, event, randomTimes(random).times)
      else if (kind < 10 && day !== null) changeSeries(event, day)
      else if (kind < 11) removeEvent(mailbox, main, event)
      else if (kind < 12) {
        const { wall, times } = randomTimes(random)
        const recurrence = event.recurrence === null ? weekly(wall, random.between(1, 20)) : null
        changeEvent(mailbox, main, event, { ...times, recurrence, exceptions: new Map(), deleted: new Set() })
      } else expireLinks(mailbox, random.pick(['next', 'delta', null]))
    },
    /** Keys and subjects of everything that takes place in the window. */
    truth: () =>
      [...main.events.values()]
        .flatMap(event => occurrencesIn(mailbox, event, SPAN))
        .map(({ immutableId, subject: named }) => `${immutableId} ${named}`)
        .toSorted(),
  }
}

/** Keys and subjects of everything that the index has in the window. Single events may have left it. */
const shownBy = (items: readonly RemoteItem[]): string[] =>
  items
    .flatMap(({ key, event, members, occurrences }) => {
      if (occurrences === null) return isInside(event!) ? [`${key} ${event!.subject}`] : []
      const own = new Map(members?.exceptions.map(({ key: named, event: { subject } }) => [named, subject]))
      return occurrences.map(one => `${one.key} ${own.get(one.key) ?? event!.subject}`)
    })
    .toSorted()

const isInside = ({ start, end }: RemoteEvent): boolean =>
  toInstant(start.wall, start.zone ?? 'UTC') < SPAN.to && toInstant(end.wall, end.zone ?? 'UTC') > SPAN.from

test.each(seedsFor(1))('an index of calendars is as the mailbox after any history: seed %i', async seed => {
  const random = seeded(`calendars ${seed}`)
  const arranged = arrangeCalendars(server(), random.pick(['global', 'china'] as const))
  const others = openOthers(arranged, random.fork('others'))
  addCalendar(arranged.mailbox, 'Other', 'auto')
  const { calendars } = await arranged.connect()
  const [calendar] = await calendars.listCalendars(never)
  const index = openEventIndex(calendar!, WINDOW)
  server().mail.configure({
    seriesMasters: random.pick(['told', 'silent'] as const),
    leavers: random.pick(['removed', 'empty'] as const),
    repeats: 0.2,
  })
  for (let round = 0; round < ROUNDS; round += 1) {
    server().intercept = () => {
      if (random.chance(0.1)) others.disturb()
      return null
    }
    for (let acts = random.between(0, 4); acts > 0; acts -= 1) others.disturb()
    await index.follow(calendars, random.chance(0.2) ? 1 : undefined).catch(() => {})
    server().intercept = null
    while (!(await index.follow(calendars)));
    await index.follow(calendars)
    expect(shownBy(index.items()), `round ${round}`).toEqual(others.truth())
  }
  // No delta reports that an event outside of the window was deleted. The comparison of each week shows it.
  index.cursor = null
  await index.follow(calendars)
  const there = new Set([...arranged.mailbox.calendars.main.events.values()].map(one => one.immutableId))
  expect(index.items().filter(({ key }) => !there.has(key))).toEqual([])
})
