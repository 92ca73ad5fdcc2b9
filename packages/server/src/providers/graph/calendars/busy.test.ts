import { afterAll, beforeAll, expect, test } from 'vitest'
import { arrangeCalendars, timesOf } from '../../../../test/graph/arrange-calendars.ts'
import { type GraphServer, startGraph } from '../../../../test/graph/graph-server.ts'
import { never } from '../../conformance/arrangement.ts'

let server: GraphServer

beforeAll(async () => {
  server = await startGraph()
})
afterAll(() => server[Symbol.asyncDispose]())

test('Exchange answers for people whom it knows, 20 a call, over more than 42 days', async () => {
  const { email, addEvent } = arrangeCalendars(server)
  addEvent({ ...timesOf('20261201T090000', '20261201T100000'), showAs: 'busy' })
  addEvent({ ...timesOf('20261201T110000', '20261201T120000'), showAs: 'free' })
  addEvent({ ...timesOf('20261201T130000', '20261201T140000'), showAs: 'workingElsewhere' })
  addEvent({ ...timesOf('20261201T150000', '20261201T160000'), showAs: 'tentative' })
  addEvent({ ...timesOf('20270120T090000', '20270120T100000'), showAs: 'oof' })
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
