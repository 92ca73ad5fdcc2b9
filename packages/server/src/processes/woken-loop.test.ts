import fc from '../../test/property.ts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openLog, silentLog } from '../kit/log.ts'
import { WokenLoop } from './woken-loop.ts'

const POLL_SECONDS = 30
const RETRY_SECONDS_MAX = 4
const LOOK_SECONDS_MAX = 5
const LOOK_INTERVAL_MS = 20
/** Timers fire at whole milliseconds. */
const ROUNDING_MS = 3

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds)

/** The behaviour of one look. */
interface Plan {
  milliseconds: number
  fails: boolean
  /** The result of a successful look. */
  nextSeconds: number
  /** Whether the look ends as soon as it is told to stop. */
  heedsSignal: boolean
}

const QUICK: Plan = { milliseconds: 0, fails: false, nextSeconds: POLL_SECONDS, heedsSignal: true }

interface Look {
  plan: Plan
  beganAt: number
  endedAt: number | null
}

/** Opens a loop whose looks follow the plans. Later looks take no time and ask for the poll. */
function openLoop(plans: readonly Plan[], options: { retrySecondsMax?: number } = {}) {
  const looks: Look[] = []
  const running = { now: 0, max: 0 }
  const loop = new WokenLoop({
    failure: 'Could not look',
    log: silentLog,
    ...options,
    async look(signal) {
      const own: Look = { plan: plans[looks.length] ?? QUICK, beganAt: performance.now(), endedAt: null }
      looks.push(own)
      running.max = Math.max(running.max, ++running.now)
      await new Promise<void>(resolve => {
        setTimeout(resolve, own.plan.milliseconds)
        if (own.plan.heedsSignal) signal.addEventListener('abort', () => resolve())
      })
      running.now--
      own.endedAt = performance.now()
      if (own.plan.fails) throw new Error('as planned')
      return own.plan.nextSeconds
    },
  })
  return { loop, looks, running }
}

/** The latest time at which the look after this one may begin if nobody wakes the loop. */
function latestAfter({ plan, beganAt, endedAt }: Look): number {
  const pauseSeconds = plan.fails ? RETRY_SECONDS_MAX : plan.nextSeconds
  return Math.max(beganAt + LOOK_INTERVAL_MS, endedAt! + pauseSeconds * 1_000) + ROUNDING_MS
}

const plans = fc.array(
  fc.record<Plan>({
    milliseconds: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: LOOK_SECONDS_MAX * 1_000 })),
    fails: fc.boolean(),
    nextSeconds: fc.constantFrom(0, 0, 1, POLL_SECONDS),
    heedsSignal: fc.boolean(),
  }),
  { maxLength: 10 },
)
/** Milliseconds before each wake. Some wakes come together. */
const wakeGaps = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 4_000 })), { maxLength: 12 })

describe('a woken loop', () => {
  test('follows each wake with a later look, one at a time, and none after its disposal', async () => {
    await fc.assert(
      fc.asyncProperty(plans, wakeGaps, fc.nat(60_000), async (planned, gaps, rest) => {
        const { loop, looks, running } = openLoop(planned, { retrySecondsMax: RETRY_SECONDS_MAX })
        const wakes: Array<{ at: number; looksBefore: number }> = []
        for (const gap of gaps) {
          await pass(gap)
          wakes.push({ at: performance.now(), looksBefore: looks.length })
          loop.wake()
        }
        await pass(rest)
        const disposedAt = performance.now()
        let isDisposed = false
        void loop[Symbol.asyncDispose]().then(() => {
          isDisposed = true
          expect(running.now).toBe(0)
        })
        await pass(LOOK_SECONDS_MAX * 1_000)
        expect(isDisposed).toBe(true)
        const count = looks.length
        loop.wake()
        await pass(3_600_000)

        expect(looks).toHaveLength(count)
        expect(running.max).toBeLessThanOrEqual(1)
        for (const look of looks) expect(look.beganAt).toBeLessThanOrEqual(disposedAt)
        for (const { at, looksBefore } of wakes) {
          const last = looks[looksBefore - 1]
          // The loop waits for a look in progress, and a wake does not shorten the pause after a failure.
          const free = last ? Math.max(at, last.plan.fails ? latestAfter(last) : last.endedAt!) : at
          const due = Math.max(free, last ? last.beganAt + LOOK_INTERVAL_MS : 0) + ROUNDING_MS
          if (due >= disposedAt) continue
          expect(looks[looksBefore]?.beganAt).toBeLessThanOrEqual(due)
        }
        for (const [index, look] of looks.entries()) {
          const next = looks[index + 1]
          if (next) expect(next.beganAt - look.beganAt).toBeGreaterThanOrEqual(LOOK_INTERVAL_MS)
          const due = latestAfter(look)
          if (due < disposedAt) expect(next?.beganAt).toBeLessThanOrEqual(due)
        }
      }),
      { numRuns: 300 },
    )
  })

  test('looks once for many wakes during a look', async () => {
    const { loop, looks } = openLoop([{ ...QUICK, milliseconds: 1_000 }])
    await pass(500)
    for (let wake = 0; wake < 100; wake++) loop.wake()
    await pass(5_000)
    expect(looks).toHaveLength(2)
    await loop[Symbol.asyncDispose]()
  })

  test('pauses longer after each failure in a row, whatever wakes it, and logs each', async () => {
    const lines: string[] = []
    const log = openLog({
      level: 'warn',
      format: 'json',
      destination: { write: line => void lines.push(line) },
    })
    const beganAt: number[] = []
    const loop = new WokenLoop({
      failure: 'Could not look',
      log,
      look() {
        beganAt.push(performance.now())
        return beganAt.length === 7 ? Promise.resolve(0) : Promise.reject(new Error('down'))
      },
    })
    const startedAt = performance.now()
    for (let second = 0; second < 48; second++) {
      await pass(1_000)
      loop.wake()
    }
    expect(beganAt.map(at => Math.round((at - startedAt) / 1_000))).toEqual([
      0, 1, 3, 7, 15, 25, 35, 35, 36, 38, 42,
    ])
    expect(lines.filter(line => line.includes('Could not look'))).toHaveLength(10)
    await loop[Symbol.asyncDispose]()
  })

  test.each([
    ['succeeded', false],
    ['failed', true],
  ])('reports when its first look has %s', async (_, fails) => {
    const { loop, looks } = openLoop([{ ...QUICK, milliseconds: 1_000, fails }])
    let isOver = false
    void loop.firstLook.then(() => (isOver = true))
    await pass(999)
    expect([looks.length, isOver]).toEqual([1, false])
    await pass(1)
    expect(isOver).toBe(true)
    await loop[Symbol.asyncDispose]()
  })

  test('does not look if it is disposed at once', async () => {
    const { loop, looks } = openLoop([])
    await loop[Symbol.asyncDispose]()
    await loop.firstLook
    expect(looks).toEqual([])
  })
})
