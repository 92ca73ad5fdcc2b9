import { afterAll, beforeAll, expect, test } from 'vitest'
import { timesOf } from '../../../../test/graph/arrange-calendars.ts'
import { type GraphServer, startGraph } from '../../../../test/graph/graph-server.ts'
import { EVENT_DEFAULTS } from '../../../../../sandbox/src/microsoft/mailbox/event.ts'
import { addEvent } from '../../../../../sandbox/src/microsoft/mailbox/events.ts'
import { never } from '../../conformance/arrangement.ts'

let server: GraphServer

beforeAll(async () => {
  server = await startGraph()
})
afterAll(() => server[Symbol.asyncDispose]())

test('Exchange answers for people whom it knows, 20 a call, over more than 42 days', async () => {
  const { email, mailbox } = server.addUser('global')
  let made = 0
  const add = (start: string, end: string, showAs: (typeof EVENT_DEFAULTS)['showAs']) =>
    addEvent(mailbox, mailbox.calendars.main, {
      fields: { ...EVENT_DEFAULTS, ...timesOf(start, end), showAs },
      recurrence: null,
      uid: String((made += 1)).padStart(40, '0'),
    })
  add('20261201T090000', '20261201T100000', 'busy')
  add('20261201T110000', '20261201T120000', 'free')
  add('20261201T130000', '20261201T140000', 'workingElsewhere')
  add('20261201T150000', '20261201T160000', 'tentative')
  add('20270120T090000', '20270120T100000', 'oof')
  const strangers = Array.from({ length: 30 }, (_, nth) => `stranger-${nth}@elsewhere.example`)
  await using account = server.connect(email)
  const range = { start: new Date('2026-12-01T00:00:00Z'), end: new Date('2027-02-01T00:00:00Z') }
  const found = await account.calendars!.findBusy!([...strangers, email], range, never)
  const time = (start: string, end: string) => ({ start: new Date(start), end: new Date(end) })
  expect([...found]).toEqual([
    [
      email,
      [
        time('2026-12-01T08:00:00Z', '2026-12-01T09:00:00Z'),
        time('2026-12-01T14:00:00Z', '2026-12-01T15:00:00Z'),
        time('2027-01-20T08:00:00Z', '2027-01-20T09:00:00Z'),
      ],
    ],
  ])
})
