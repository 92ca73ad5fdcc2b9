import { RRuleTemporal } from 'rrule-temporal'
import { expand } from '../packages/server/src/kit/recurrence/expand.ts'
import { DAY_MS, printWall } from '../packages/server/src/kit/wall-clock.ts'
import { median, short } from './figures.ts'
import type { Benchmark } from './row.ts'

const SERIES = 1_000
const RUNS = 5
const WINDOW = { past: 97, ahead: 396 }
const ZONES = ['Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Sydney']
/** Rules as people have them. */
const RULES = [
  'FREQ=WEEKLY',
  'FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR',
  'FREQ=WEEKLY;INTERVAL=2;BYDAY=TU',
  'FREQ=DAILY;COUNT=200',
  'FREQ=MONTHLY;BYDAY=1MO',
  'FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1',
  'FREQ=MONTHLY;BYMONTHDAY=15',
  'FREQ=YEARLY',
]

export const expansion: Benchmark = {
  name: 'expansion',
  about: 'The members of 1,000 mixed series in the window, compared with rrule-temporal.',
  async run(report) {
    const now = Math.floor(Date.now() / DAY_MS) * DAY_MS
    const [from, to] = [now - WINDOW.past * DAY_MS, now + WINDOW.ahead * DAY_MS]
    const all = Array.from({ length: SERIES }, (_, nth) => ({
      rule: RULES[nth % RULES.length]!,
      // Up to three years before today.
      wall: printWall(now - ((nth * 37) % 1_100) * DAY_MS + 9 * 3_600_000),
      zone: ZONES[nth % ZONES.length]!,
    }))
    const ours = () => {
      let members = 0
      for (const { rule, wall, zone } of all) {
        const series = {
          lines: [`RRULE:${rule}`],
          start: { wall, zone },
          from: printWall(from),
          to: printWall(to),
        }
        members += expand(series).members.length
      }
      return members
    }
    const theirs = () => {
      let members = 0
      for (const { rule, wall, zone } of all) {
        const rules = new RRuleTemporal({ rruleString: `DTSTART;TZID=${zone}:${wall}\nRRULE:${rule}` })
        members += rules.between(new Date(from), new Date(to), true).length
      }
      return members
    }
    const tookMs = { ours: [] as number[], theirs: [] as number[] }
    for (let run = 0; run < RUNS; run++) {
      tookMs.ours.push(timed(ours))
      tookMs.theirs.push(timed(theirs))
    }
    report({
      measure: `${short(SERIES)} series, members of the window (${short(ours())}), ms`,
      result: short(median(tookMs.ours)),
      yardstick: `rrule-temporal (${short(theirs())}) ${short(median(tookMs.theirs))}`,
      ratio: median(tookMs.ours) / median(tookMs.theirs),
      target: '≤ 0.2 (0.1)',
    })
  },
}

function timed(work: () => unknown): number {
  const begun = performance.now()
  work()
  return performance.now() - begun
}
