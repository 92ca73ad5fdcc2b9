import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Logger } from '../kit/log.ts'
import { keepSession } from './kept-session.ts'
import type { DatabaseAddress, Db } from './pool.ts'

/** The channel of accounts that changed, and the one of accounts that have new mail. */
export type WakeChannel = 'waxwing_wake' | 'waxwing_mail'

/** At most 20 notices a second per process, however many accounts are woken. */
const NOTICE_INTERVAL_MILLISECONDS = 50
/** An id with its comma takes 37 bytes, and NOTIFY accepts fewer than 8,000. */
const IDS_PER_NOTICE_MAX = 200

/** Tells all listeners, in any process, that there is something to do for an account. */
export interface Waker extends AsyncDisposable {
  /**
   * Returns at once and never throws. If a notice is lost, the account waits for the next poll; nothing else breaks.
   */
  wake(accountId: string): void
}

/** Notices are sent outside transactions: NOTIFY takes a lock of the whole database at commit. */
export function openWaker(db: Db, channel: WakeChannel, log: Logger): Waker {
  let waiting = new Set<string>()
  let sending: Promise<void> | null = null

  async function sendAll() {
    while (waiting.size > 0) {
      const ids = [...waiting].slice(0, IDS_PER_NOTICE_MAX)
      for (const id of ids) waiting.delete(id)
      try {
        await sql`select pg_notify(${channel}, ${ids.join(',')})`.execute(db)
      } catch (error) {
        log.warn({ error, count: ids.length }, 'Could not wake accounts; they are found by the next poll')
      }
      await sleep(NOTICE_INTERVAL_MILLISECONDS)
    }
    sending = null
  }

  return {
    wake(accountId) {
      waiting.add(accountId)
      sending ??= sendAll()
    },
    async [Symbol.asyncDispose]() {
      await sending
      waiting = new Set()
    },
  }
}

export interface WakeListener {
  onWake(accountIds: string[]): void
  /**
   * Called when listening starts, and when it starts again after a gap in which notices may have been missed.
   */
  onListening(): void
}

/** Listens on its own connection until disposed, and connects again whenever that breaks. */
export function listenForWakes(
  address: DatabaseAddress,
  channels: readonly WakeChannel[],
  listener: WakeListener,
  log: Logger,
): AsyncDisposable {
  return keepSession({
    address,
    applicationName: 'waxwing listen',
    log,
    async onConnect(client) {
      client.on('notification', ({ payload }) => listener.onWake(payload ? payload.split(',') : []))
      for (const channel of channels) await client.query(`listen ${channel}`)
      listener.onListening()
    },
  })
}
