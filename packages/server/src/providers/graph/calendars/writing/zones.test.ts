import { afterAll, beforeAll, expect, test } from 'vitest'
import { failing, openWriting, series } from '../../../../../test/graph/calendar-writing.ts'
import { type GraphServer, startGraph } from '../../../../../test/graph/graph-server.ts'
import { toInstant } from '../../../../kit/zones/zones.ts'

let server: GraphServer

beforeAll(async () => {
  server = await startGraph()
})
afterAll(() => server[Symbol.asyncDispose]())

// CLDR gives these zones the names of others, which have other clocks.
test.each(['Antarctica/Casey', 'Antarctica/Vostok', 'America/Vancouver'])(
  'an event in %s takes place at its instants, and a series does or is refused',
  async zone => {
    const { create, change, changed, there } = await openWriting(server)
    const [start, end] = ['20261201T090000', '20261201T100000'].map(wall => ({ wall, zone }))
    const instants = [start!, end!].map(({ wall }) => toInstant(wall, zone))
    const stored = () =>
      there().map(one => [one.start, one.end].map(moment => ('at' in moment ? moment.at : null)))
    const { key } = await create({ start: start!, end: end! })
    expect(stored()).toEqual([instants])
    await changed(key, { start: { wall: '20261201T080000', zone }, end: end! })
    expect(stored()).toEqual([[instants[0]! - 3_600_000, instants[1]]])
    const refused = await failing(
      create({ start: start!, end: end!, recurrence: series('FREQ=DAILY;COUNT=3') }),
    )
    if (zone.startsWith('Antarctica')) expect(refused).toBe('unsupported')
    if (refused === null) expect(stored()[1]).toEqual(instants)
    else expect(there()).toHaveLength(1)
    const berlin = await create({ recurrence: series('FREQ=DAILY;COUNT=3') })
    const member = { type: 'member', member: '20261202T090000', memberKey: null } as const
    await change(berlin.key, { start: { wall: '20261202T120000', zone } }, member)
    const [exception] = there().at(-1)!.exceptions.values()
    expect(exception?.fields.start).toMatchObject({ at: toInstant('20261202T120000', zone) })
  },
)
