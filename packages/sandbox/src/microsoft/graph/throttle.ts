import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import type { Random } from '../../world/random.ts'
import { GraphRefusal } from './errors.ts'

export const ThrottleSchema = z.strictObject({
  /** Whether the limits are kept. */
  limits: z.enum(['on', 'off']),
  /** Calls of an app to a mailbox in the window. */
  callsMax: z.int().min(1).max(1_000_000),
  windowSeconds: z.int().min(1).max(3_600),
  /** Calls of an app to a mailbox at the same time. */
  concurrentMax: z.int().min(1).max(1_000),
  /** Messages that a mailbox sends in a minute. */
  sendsPerMinute: z.int().min(1).max(1_000_000),
  /** Whether a refusal says when to come again. */
  retryAfter: z.enum(['given', 'missing', 'mixed']),
  /** How long a call holds its place among those at the same time, at the least. A shorter time also ends earlier calls. */
  callMilliseconds: z.int().min(0).max(60_000),
})

export type ThrottleSettings = z.output<typeof ThrottleSchema>

export const DEFAULT_THROTTLE: ThrottleSettings = {
  limits: 'on',
  callsMax: 10_000,
  windowSeconds: 600,
  concurrentMax: 4,
  sendsPerMinute: 30,
  retryAfter: 'given',
  callMilliseconds: 0,
}

/** Milliseconds after which a held call reads the settings again. */
const HELD_STEP = 5

/** A call that was refused for coming too often. */
export interface Throttled {
  readonly message: string
  /** Null: the answer has no `Retry-After`. */
  readonly retryAfterSeconds: number | null
}

/** The answer to a call that was refused for coming too often. */
export const refuseThrottled = ({ message, retryAfterSeconds }: Throttled): GraphRefusal =>
  new GraphRefusal(
    429,
    'ApplicationThrottled',
    message,
    retryAfterSeconds === null ? {} : { 'retry-after': String(retryAfterSeconds) },
  )

/** Lets a call in, or throws Graph's refusal, and gives its place free when the work is done. */
export async function runThrottled<T>(
  throttle: Throttle,
  settings: Pick<ThrottleSettings, 'callMilliseconds'>,
  { app, mailbox }: { app: string; mailbox: string },
  work: () => Promise<T>,
): Promise<T> {
  const entered = throttle.enter(app, mailbox)
  if (typeof entered !== 'function') throw refuseThrottled(entered)
  const began = performance.now()
  try {
    return await work()
  } finally {
    while (performance.now() < began + settings.callMilliseconds)
      await pause(HELD_STEP, undefined, { ref: false })
    entered()
  }
}

/** Counts of the calls of apps to mailboxes, and the limits that they are held to. */
export interface Throttle {
  /** Counts a call, and gives it a place among those at the same time. The function that comes back leaves the place. */
  enter(app: string, mailbox: string): Throttled | (() => void)
  /** Counts a message that the mailbox sends; null if it may. */
  send(mailbox: string): Throttled | null
}

const MINUTE_SECONDS = 60
const CONCURRENT_RETRY_SECONDS = 1

export function openThrottle(settings: ThrottleSettings, now: () => number, random: Random): Throttle {
  const calls = new Map<string, Window>()
  const sends = new Map<string, Window>()
  const running = new Map<string, number>()
  const refuse = (message: string, seconds: number): Throttled => {
    const says = settings.retryAfter === 'mixed' ? random.integer(2) === 0 : settings.retryAfter === 'given'
    return { message, retryAfterSeconds: says ? Math.max(1, seconds) : null }
  }
  return {
    enter(app, mailbox) {
      if (settings.limits === 'off') return () => {}
      const key = `${app} ${mailbox}`
      const second = Math.floor(now() / 1000)
      const window = windowOf(calls, key)
      if (used(window, second, settings.windowSeconds) >= settings.callsMax)
        return refuse(
          'Application is over its request limit.',
          secondsUntilFree(window, second, settings.windowSeconds),
        )
      // A refused call counts too, as it does at Exchange.
      spend(window, second)
      const others = running.get(key) ?? 0
      if (others >= settings.concurrentMax)
        return refuse('Application is over its MailboxConcurrency limit.', CONCURRENT_RETRY_SECONDS)
      running.set(key, others + 1)
      let isInside = true
      return () => {
        if (!isInside) return
        isInside = false
        const left = (running.get(key) ?? 1) - 1
        if (left > 0) running.set(key, left)
        else running.delete(key)
      }
    },
    send(mailbox) {
      if (settings.limits === 'off') return null
      const second = Math.floor(now() / 1000)
      const window = windowOf(sends, mailbox)
      if (used(window, second, MINUTE_SECONDS) >= settings.sendsPerMinute)
        return refuse(
          'The mailbox is over its limit of messages in a minute.',
          secondsUntilFree(window, second, MINUTE_SECONDS),
        )
      spend(window, second)
      return null
    },
  }
}

interface Window {
  /** By second, in order. */
  spent: { second: number; count: number }[]
  sum: number
}

function windowOf(windows: Map<string, Window>, key: string): Window {
  const found = windows.get(key)
  if (found) return found
  const opened = { spent: [], sum: 0 }
  windows.set(key, opened)
  return opened
}

/** The number in the window that ends with this second. Older ones are forgotten, and later ones, if the clock was turned back. */
function used(window: Window, second: number, seconds: number): number {
  const isInside = (at: number): boolean => at > second - seconds && at <= second
  const first = window.spent[0]
  const last = window.spent.at(-1)
  if (first && last && !(isInside(first.second) && isInside(last.second))) {
    window.spent = window.spent.filter(entry => isInside(entry.second))
    window.sum = window.spent.reduce((sum, { count }) => sum + count, 0)
  }
  return window.sum
}

const secondsUntilFree = ({ spent }: Window, second: number, seconds: number): number =>
  (spent[0]?.second ?? second) + seconds - second

function spend(window: Window, second: number): void {
  const last = window.spent.at(-1)
  if (last?.second === second) last.count += 1
  else window.spent.push({ second, count: 1 })
  window.sum += 1
}
