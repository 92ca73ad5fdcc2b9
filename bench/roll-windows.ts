import { randomUUID } from 'node:crypto'
import { lockingHalf } from '../packages/server/src/accounts/halves/lock.ts'
import { openDatabase } from '../packages/server/src/database/pool.ts'
import { inTransaction } from '../packages/server/src/events/unit-of-work.ts'
import { loadLockedCalendars } from '../packages/server/src/features/calendars/calendars/record-account.ts'
import { openSpanPlanner } from '../packages/server/src/features/calendars/events/planner.ts'
import { recordEvents } from '../packages/server/src/features/calendars/events/record.ts'
import { rollWindows } from '../packages/server/src/features/calendars/events/roll.ts'
import { keptWindow } from '../packages/server/src/features/calendars/events/window.ts'
import { silentLog } from '../packages/server/src/kit/log.ts'
import { DAY_MS, printWall } from '../packages/server/src/kit/wall-clock.ts'
import type { RemoteItem } from '../packages/server/src/providers/calendars.ts'
import { addHalf } from '../packages/server/test/halves.ts'
import { PLAIN_EVENT } from '../packages/server/test/memory-calendars.ts'
import { sampleAccount, sampleTenant } from '../packages/server/test/sample-rows.ts'
import { meterCpu } from './cpu.ts'
import { short } from './figures.ts'
import type { Benchmark } from './row.ts'
import { openItsDatabase } from './same-sql.ts'
import { startBenchService } from './service.ts'

const SERIES = Number(process.env['WAXWING_BENCH_SERIES'] ?? 10_000)
const ACCOUNTS = 20
const STEP = 500
const WINDOW_DAYS = { past: 90, ahead: 365 }
/** Series are expanded further about once a week. */
const DAYS_LATER = 8
const RULES = [
  'FREQ=WEEKLY',
  'FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR',
  'FREQ=MONTHLY;BYDAY=1MO',
  'FREQ=DAILY',
  'FREQ=YEARLY',
]

export const rollWindowsBenchmark: Benchmark = {
  name: 'roll-windows',
  about: 'Moving the window of 10,000 series of 20 accounts on by eight days.',
  async run(report) {
    // Nothing follows the accounts, whose servers are nowhere.
    await using service = await startBenchService({ env: { WAXWING_ROLES: 'api' } })
    await using its = await openItsDatabase(service.folder.path)
    await using database = openDatabase({ address: its.address, applicationName: 'waxwing bench' })
    await using planner = openSpanPlanner(silentLog)
    const { db } = database
    const now = Date.now()
    const { id: tenantId } = await sampleTenant(db)
    for (let account = 0; account < ACCOUNTS; account++) {
      const { id } = await sampleAccount(db, tenantId, { settings_override: '{"calendarEnabled": true}' })
      await addHalf(db, id, 'calendar', [])
      const calendarId = randomUUID()
      await its.pool.query(ADD_CALENDAR, [calendarId, tenantId, id])
      for (let first = 0; first < SERIES / ACCOUNTS; first += STEP) {
        const count = Math.min(STEP, SERIES / ACCOUNTS - first)
        const objects = Array.from({ length: count }, (_, nth) => seriesOf(first + nth, now))
        await planner.run(id, items =>
          inTransaction(db, tenantId, async unit => {
            const loaded = await loadLockedCalendars(unit, id, lockingHalf(unit, id, 'calendar'))
            if (!loaded) throw new Error('the account is not there')
            const options = { calendarId, unzoned: 'UTC', own: loaded.own, planner: items }
            await recordEvents(unit, loaded.account, objects, {
              ...options,
              window: keptWindow(WINDOW_DAYS, now),
            })
          }),
        )
      }
    }
    await its.pool.query('vacuum analyze')
    const clock = { now: () => now + DAYS_LATER * DAY_MS }
    const used = meterCpu()
    const begun = performance.now()
    await rollWindows({ db, days: WINDOW_DAYS, planner, log: silentLog, clock }, new AbortController().signal)
    report({
      measure: `window of ${short(SERIES)} series moved by ${DAYS_LATER} days, seconds`,
      result: short((performance.now() - begun) / 1_000),
      yardstick: '',
      ratio: null,
      target: '≤ 60',
      cpu: used(SERIES),
    })
  },
}

const ADD_CALENDAR = `
  insert into calendar (id, tenant_id, account_id, provider_key, name, is_primary, access, can_edit, is_hidden, position, basis)
  values ($1, $2, $3, '/work', 'Work', true, 'owner', true, false, 0, '')`

function seriesOf(nth: number, now: number): RemoteItem {
  const start = Math.floor(now / DAY_MS) * DAY_MS - (nth % 700) * DAY_MS + 9 * 3_600_000
  return {
    type: 'item',
    key: `series-${nth}`,
    version: '1',
    uid: `series-${nth}`,
    event: {
      ...PLAIN_EVENT,
      start: { wall: printWall(start), zone: 'Europe/Berlin' },
      end: { wall: printWall(start + 3_600_000), zone: 'Europe/Berlin' },
    },
    recurrence: [`RRULE:${RULES[nth % RULES.length]}`],
    members: null,
    occurrences: null,
  }
}
