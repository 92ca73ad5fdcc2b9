import { afterAll, beforeAll, expect, test } from 'vitest'
import { addCalendar } from '../../../../../../sandbox/src/microsoft/mailbox/calendars.ts'
import { occurrencesIn } from '../../../../../../sandbox/src/microsoft/mailbox/occurrences.ts'
import { at, failing, INPUT, openWriting, series } from '../../../../../test/graph/calendar-writing.ts'
import { type GraphServer, startGraph } from '../../../../../test/graph/graph-server.ts'
import { newId } from '../../../../kit/ids.ts'

let server: GraphServer

beforeAll(async () => {
  server = await startGraph()
})
afterAll(() => server[Symbol.asyncDispose]())

const SPAN = { from: 0, to: Date.UTC(2030, 0) }
const RECURRENCE = series('FREQ=WEEKLY;COUNT=6', ['20261222T090000'])

/** A mailbox with a series that has exceptions and a deleted member, and a second calendar. */
async function open() {
  const arranged = await openWriting(server)
  const { create, change, calendarKey, mailbox } = arranged
  const { key } = await create({ recurrence: RECURRENCE })
  for (const [member, subject] of [
    ['20261208T090000', 'Early'],
    ['20261229T090000', 'Late'],
  ] as const)
    await change(
      key,
      { subject, start: at(member.replace('T09', 'T15')) },
      { type: 'member', member, memberKey: null },
    )
  const other = addCalendar(mailbox, 'Other', 'auto')
  /** Everything that takes place, in both calendars. */
  const truth = () =>
    [...mailbox.calendars.own.values()].map(({ events }) =>
      [...events.values()]
        .flatMap(event => occurrencesIn(mailbox, event, SPAN))
        .map(({ start, subject }) => `${'at' in start ? new Date(start.at).toISOString() : ''} ${subject}`)
        .toSorted(),
    )
  return { ...arranged, key, place: { calendarKey, key }, other, truth }
}
type Opened = Awaited<ReturnType<typeof open>>

const WRITES: ReadonlyArray<
  [string, (opened: Opened, creation: { creationId: string; mayExist: boolean }) => Promise<unknown>]
> = [
  [
    'creating a series',
    ({ writer, calendarKey, options }, creation) =>
      writer.createEvent(
        { calendarKey, fields: { ...INPUT, subject: 'New', recurrence: RECURRENCE }, ...creation },
        options,
      ),
  ],
  ['moving it in time', ({ change, key }) => change(key, { start: at('20261202T110000') })],
  [
    'ending it',
    async ({ writer, place, options }, { mayExist }) => {
      const part = { type: 'following', member: '20261229T090000', memberKey: null } as const
      const work = writer.removeEvent({ place, part }, options)
      // The first try may have ended it.
      await (mayExist ? failing(work) : work)
    },
  ],
  [
    'splitting it',
    ({ change, key }, creation) =>
      change(
        key,
        { subject: 'Rest' },
        { type: 'following', member: '20261215T090000', memberKey: null, ...creation },
      ),
  ],
  [
    'moving it to another calendar',
    ({ writer, place, other, options }, creation) =>
      writer.moveEvent({ place, toCalendarKey: other.id, ...creation }, options),
  ],
]

test.each(WRITES)('%s is whole after another try, wherever the first was broken off', async (_, write) => {
  const whole = await open()
  await write(whole, { creationId: newId(), mayExist: false })
  const expected = whole.truth()
  for (let broken = 1; ; broken += 1) {
    const opened = await open()
    const creationId = newId()
    let calls = 0
    let isAfterChange = false
    server.intercept = ({ method, path }) => {
      // A read that fails right after a change stands for all of those up to the next change.
      const isChange = method !== 'GET' && !path.endsWith('/$batch')
      const isCounted = isChange || isAfterChange
      isAfterChange = isChange
      if (!isCounted || (calls += 1) !== broken) return null
      return Response.json({ error: { code: 'ErrorItemSave' } }, { status: 500 })
    }
    const failure = await failing(write(opened, { creationId, mayExist: false }))
    server.intercept = null
    if (failure === null && calls < broken) break
    if (failure !== null) await write(opened, { creationId, mayExist: true })
    expect(opened.truth(), `broken off at call ${broken}`).toEqual(expected)
  }
})
