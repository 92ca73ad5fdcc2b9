import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import type { Random } from '../../world/random.ts'
import { spend, used, type Window, windowOf } from '../../limits/window.ts'
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
  /** Whether a refusal has `Retry-After`. */
  retryAfter: z.enum(['given', 'missing', 'mixed']),
  /** Milliseconds for which a call counts as running, at least. A shorter time also ends earlier calls. */
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

/** The refusal of a call that exceeds a limit. */
export interface Throttled {
  readonly message: string
  /** Null if the answer has no `Retry-After`. */
  readonly retryAfterSeconds: number | null
}

/** The answer to a call that exceeds a limit. */
export const refuseThrottled = ({ message, retryAfterSeconds }: Throttled): GraphRefusal =>
  new GraphRefusal(
    429,
    'ApplicationThrottled',
    message,
    retryAfterSeconds === null ? {} : { 'retry-after': String(retryAfterSeconds) },
  )

/** Runs a call within the limits. Throws Graph's refusal if it exceeds one. */
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

/** Counts of the calls of apps to mailboxes, and their limits. */
export interface Throttle {
  /** Counts a call, which runs until the returned function is called; returns the refusal if it exceeds a limit. */
  enter(app: string, mailbox: string): Throttled | (() => void)
  /** Counts a message that the mailbox sends. Returns null if it may send it. */
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
      spend(window, second, 1)
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
      spend(window, second, 1)
      return null
    },
  }
}

const secondsUntilFree = ({ spent }: Window, second: number, seconds: number): number =>
  (spent[0]?.second ?? second) + seconds - second
