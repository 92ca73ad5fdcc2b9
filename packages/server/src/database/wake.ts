import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Logger } from '../kit/log.ts'
import { keepSession } from './kept-session.ts'
import type { DatabaseAddress, Db } from './pool.ts'

/**
 * Channels for changed accounts, accounts whose provider has pushed something, accounts of which a body was stored,
 * something to send or what was tracked, enqueued jobs, new events of tenants, and webhooks to deliver.
 */
const CHANNELS = [
  'waxwing_wake',
  'waxwing_notice',
  'waxwing_body',
  'waxwing_outbox',
  'waxwing_tracking',
  'waxwing_job',
  'waxwing_event',
  'waxwing_webhook',
] as const
export type WakeChannel = (typeof CHANNELS)[number]

/** At most 20 notices a second per process and channel, however much there is to tell. */
const NOTICE_INTERVAL_MILLISECONDS = 50
/** An id with its comma takes 37 bytes, and NOTIFY accepts fewer than 8,000. */
const IDS_PER_NOTICE_MAX = 200

interface NoticeSenderOptions {
  db: Db
  log: Logger
  channel: WakeChannel
  /** Takes the next payload, shorter than 8,000 bytes; null if nothing waits. */
  take(): string | null
}

/**
 * Sends notices on one channel, each by itself and never in a transaction: NOTIFY takes a lock on the whole database at
 * commit. Only rare work notifies within one (`jobs/enqueue.ts`).
 */
export class NoticeSender implements AsyncDisposable {
  readonly #options: NoticeSenderOptions
  #sending: Promise<void> | null = null

  constructor(options: NoticeSenderOptions) {
    this.#options = options
  }

  /** Sends what `take` gives, until it gives nothing. Returns at once and never throws. */
  send(): void {
    this.#sending ??= this.#sendAll().finally(() => (this.#sending = null))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sending
  }

  async #sendAll() {
    const { db, log, channel, take } = this.#options
    for (let payload = take(); payload !== null; payload = take()) {
      try {
        await sql`select pg_notify(${channel}, ${payload})`.execute(db)
      } catch (error) {
        log.warn(
          { error, names: [channel] },
          'Could not send a notice; the next poll finds what it was about',
        )
      }
      await sleep(NOTICE_INTERVAL_MILLISECONDS)
    }
  }
}

/** Notifies the listeners of all processes that an account has work. */
export interface Waker extends AsyncDisposable {
  /**
   * Wakes those who listen to the channel: by default the owner of the account. Returns at once and never throws. If a
   * notice is lost, the account waits for the next poll; nothing else breaks.
   */
  wake(accountId: string, channel?: WakeChannel): void
}

export function openWaker(db: Db, log: Logger): Waker {
  const senders = new Map<WakeChannel, { accountIds: Set<string>; sender: NoticeSender }>()

  function open(channel: WakeChannel) {
    const accountIds = new Set<string>()
    function take() {
      if (accountIds.size === 0) return null
      const ids = [...accountIds].slice(0, IDS_PER_NOTICE_MAX)
      for (const id of ids) accountIds.delete(id)
      return ids.join(',')
    }
    const opened = { accountIds, sender: new NoticeSender({ db, log, channel, take }) }
    senders.set(channel, opened)
    return opened
  }

  return {
    wake(accountId, channel = 'waxwing_wake') {
      const { accountIds, sender } = senders.get(channel) ?? open(channel)
      accountIds.add(accountId)
      sender.send()
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...senders.values()].map(({ sender }) => sender[Symbol.asyncDispose]()))
    },
  }
}

export interface WakeListener {
  /** Called with what was woken: ids of accounts, names of kinds of jobs, or what `events/news.ts` writes. */
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
