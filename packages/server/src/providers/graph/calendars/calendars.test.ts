import { afterAll, beforeAll } from 'vitest'
import { arrangeCalendars } from '../../../../test/graph/arrange-calendars.ts'
import { type GraphServer, startGraph } from '../../../../test/graph/graph-server.ts'
import { describeCalendars } from '../../conformance/calendars.ts'
import { describeChangingCalendars } from '../../conformance/changing-calendars.ts'

let server: GraphServer

beforeAll(async () => {
  server = await startGraph()
})
afterAll(() => server[Symbol.asyncDispose]())

describeCalendars('Graph', async () => arrangeCalendars(server))
describeChangingCalendars('Graph', async () => arrangeCalendars(server))
describeCalendars('Graph in China', async () => arrangeCalendars(server, 'china'))
describeCalendars('Graph that reports series', async () =>
  configured({ seriesMasters: 'told', leavers: 'empty' }),
)
describeCalendars('Graph without deltas', async () => configured({ calendarDeltas: 'none' }))

/** The calendars of a Graph that behaves in this way until the arrangement ends. */
function configured(settings: Record<string, string>) {
  const usual = { seriesMasters: 'silent', leavers: 'removed', calendarDeltas: 'all' }
  server.mail.configure(settings)
  return {
    ...arrangeCalendars(server),
    async [Symbol.asyncDispose]() {
      server.mail.configure(usual)
    },
  }
}
