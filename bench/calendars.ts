import { randomUUID } from 'node:crypto'
import { listSpans } from '../packages/server/src/features/calendars/events/store.ts'
import { DAY_MS } from '../packages/server/src/kit/wall-clock.ts'
import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import { startRadicale } from '../packages/server/test/servers/radicale.ts'
import { CALENDAR, fileOf, hourOf, makeFullCalendar } from './calendar-files.ts'
import {
  addHalf,
  openReplay,
  reportFirstSync,
  reportQuietPass,
  untilHalf,
  untilQuiet,
  watchDav,
} from './dav-account.ts'
import { short } from './figures.ts'
import { openGet, openPost } from './http.ts'
import { compareLoad } from './load.ts'
import { makeFullMailbox } from './mailbox.ts'
import type { Benchmark, Report } from './row.ts'
import { openSameSql } from './same-sql.ts'
import { type BenchService, startBenchService } from './service.ts'

const EVENTS = Number(process.env['WAXWING_BENCH_EVENTS'] ?? 5_000)
const PAGE = 100
/** The days of the list whose first page is read. */
const LISTED_DAYS = 60
const half = 'calendar' as const

export const calendars: Benchmark = {
  name: 'calendars',
  about:
    'First sync, quiet pass, list and POST of events by CalDAV, compared with the same requests and the same SQL alone.',
  async run(report) {
    await using server = await startDovecot()
    await using files = await startRadicale()
    await using watched = await watchDav(files)
    const { proxy, origin } = watched
    const user = await makeFullMailbox(server, 1)
    const davUser = await makeFullCalendar(files, EVENTS)
    await using service = await startBenchService()
    const accountId = await service.connect(server, user)
    await service.untilInitialized(accountId)
    using replay = openReplay(origin)

    const measured = { service, accountId, half, calls: proxy.calls, replay } as const
    await reportFirstSync(report, { ...measured, user: davUser, origin, items: EVENTS })
    await reportQuietPass(report, measured)
    await reportPages(report, service, accountId)

    const small = await makeFullCalendar(files, 0)
    const writingId = await service.connect(server, await makeFullMailbox(server, 1))
    await service.untilInitialized(writingId)
    await addHalf(service, writingId, { half, user: small, origin })
    await untilHalf(service, writingId, half, true)
    const { body } = await service.get<{ items: Array<{ id: string }> }>(
      `/v1/accounts/${writingId}/calendars`,
    )
    const authorization = `Basic ${Buffer.from(`${small.user}:${small.password}`).toString('base64')}`
    using client = openPost(service)
    let made = 0
    const post = () => {
      const { start, end } = hourOf(++made)
      return client.post(`/v1/accounts/${writingId}/calendar-events`, {
        calendarId: body.items[0]!.id,
        subject: `Meeting ${made}`,
        start: { dateTime: new Date(start).toISOString(), timeZone: 'UTC' },
        end: { dateTime: new Date(end).toISOString(), timeZone: 'UTC' },
      })
    }
    await untilQuiet(proxy.calls)
    const figures = await compareLoad(1, {
      put: async () => {
        const uid = randomUUID()
        const path = `${small.homePath}${CALENDAR}/${uid}.ics`
        const headers = {
          authorization,
          'content-type': 'text/calendar; charset=utf-8',
          'if-none-match': '*',
        }
        const status = await replay.send({ method: 'PUT', path, headers, body: fileOf(uid, ++made) })
        if (status !== 201) throw new Error(`PUT: ${status}`)
      },
      post,
    })
    report({
      measure: 'POST of an event, p50 in ms',
      result: short(figures.post.p50Ms),
      yardstick: `a bare PUT ${short(figures.put.p50Ms)}`,
      ratio: figures.post.p50Ms / figures.put.p50Ms,
      target: '≤ 2',
      cpu: figures.post.cpu,
    })
  },
}

async function reportPages(report: Report, service: BenchService, accountId: string): Promise<void> {
  const start = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS)
  const end = new Date(start.getTime() + LISTED_DAYS * DAY_MS)
  const query = new URLSearchParams({
    start: start.toISOString(),
    end: end.toISOString(),
    limit: String(PAGE),
  })
  const http = openGet(service, `/v1/accounts/${accountId}/calendar-events?${query}`)
  await using sql = await openSameSql(service.folder.path, accountId, db =>
    listSpans(db, accountId, { range: { start, end, calendarId: undefined }, position: null, limit: PAGE }),
  )
  for (const callers of [1, 16]) {
    const figures = await compareLoad(callers, { sql: sql.run, http })
    const [name, unit, target] =
      callers === 1
        ? (['p50Ms', '1 caller, p50 in ms', '≤ 2.2'] as const)
        : (['perSecond', '16 callers, pages per second', '≥ 0.4'] as const)
    report({
      measure: `page of ${PAGE} of ${short(EVENTS)} events, ${unit}`,
      result: short(figures.http[name]),
      yardstick: `SQL ${short(figures.sql[name])}`,
      ratio: figures.http[name] / figures.sql[name],
      target,
      cpu: figures.http.cpu,
    })
  }
}
