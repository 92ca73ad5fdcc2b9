import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Logger } from '../kit/log.ts'
import { keepSession } from './kept-session.ts'
import type { DatabaseAddress, Db } from './pool.ts'

/** Channels for changed accounts, accounts with new mail, something to send or what was tracked, and enqueued jobs. */
const CHANNELS = [
  'waxwing_wake',
  'waxwing_mail',
  'waxwing_outbox',
  'waxwing_tracking',
  'waxwing_job',
] as const
export type WakeChannel = (typeof CHANNELS)[number]

/** At most 20 notices a second per process and channel, however many accounts are woken. */
const NOTICE_INTERVAL_MILLISECONDS = 50
/** An id with its comma takes 37 bytes, and NOTIFY accepts fewer than 8,000. */
const IDS_PER_NOTICE_MAX = 200

/** Tells the listeners of all processes that an account has work. */
export interface Waker extends AsyncDisposable {
  /**
   * Wakes those who listen to the channel: by default the owner of the account. Returns at once and never throws. If a
   * notice is lost, the account waits for the next poll; nothing else breaks.
   */
  wake(accountId: string, channel?: WakeChannel): void
}

/**
 * Notices about accounts are sent by themselves, never in a transaction: NOTIFY takes a lock on the whole database at
 * commit. Only rare work notifies within one (`jobs/enqueue.ts`).
 */
export function openWaker(db: Db, log: Logger): Waker {
  const waiting = new Map<WakeChannel, Set<string>>()
  const sending = new Map<WakeChannel, Promise<void>>()

  async function sendAll(channel: WakeChannel, accountIds: Set<string>) {
    while (accountIds.size > 0) {
      const ids = [...accountIds].slice(0, IDS_PER_NOTICE_MAX)
      for (const id of ids) accountIds.delete(id)
      try {
        await sql`select pg_notify(${channel}, ${ids.join(',')})`.execute(db)
      } catch (error) {
        log.warn({ error, count: ids.length }, 'Could not wake accounts; they are found by the next poll')
      }
      await sleep(NOTICE_INTERVAL_MILLISECONDS)
    }
    sending.delete(channel)
  }

  return {
    wake(accountId, channel = 'waxwing_wake') {
      const accountIds = waiting.get(channel) ?? new Set()
      waiting.set(channel, accountIds.add(accountId))
      if (!sending.has(channel)) sending.set(channel, sendAll(channel, accountIds))
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(sending.values())
    },
  }
}

export interface WakeListener {
  /** Called with what was woken: ids of accounts, or names of kinds of jobs. */
  onWake(ids: string[]): void
  /** Called when listening begins, and when it begins again after a gap in which notices may have been missed. */
  onListening(): void
}

/** Receives what the wakers of all processes send. */
export interface Wakes extends AsyncDisposable {
  on(channels: readonly WakeChannel[], listener: WakeListener): void
}

/** Listens on a dedicated connection from the first listener on, and connects again whenever that breaks. */
export function openWakes(address: DatabaseAddress, log: Logger): Wakes {
  const listeners: Array<{ channels: readonly string[]; listener: WakeListener }> = []
  let isListening = false
  let session: AsyncDisposable | null = null
  const listen = () =>
    keepSession({
      address,
      applicationName: 'waxwing listen',
      log,
      async onConnect(client) {
        client.once('end', () => (isListening = false))
        client.on('notification', ({ channel, payload }) => {
          const ids = payload ? payload.split(',') : []
          for (const { channels, listener } of listeners) if (channels.includes(channel)) listener.onWake(ids)
        })
        for (const channel of CHANNELS) await client.query(`listen ${channel}`)
        isListening = true
        for (const { listener } of listeners) listener.onListening()
      },
    })
  return {
    on(channels, listener) {
      listeners.push({ channels, listener })
      if (isListening) listener.onListening()
      session ??= listen()
    },
    async [Symbol.asyncDispose]() {
      await session?.[Symbol.asyncDispose]()
    },
  }
}
