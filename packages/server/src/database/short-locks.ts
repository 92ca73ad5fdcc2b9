import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, DatabaseError } from 'pg'

/** A statement that waits for a lock blocks all that come after it, so it gives up quickly and tries again. */
const LOCK_TIMEOUT_MILLISECONDS = 250
const PAUSE_MILLISECONDS = 1_000
const ATTEMPTS_MAX = 600

/** Runs `work` with locks that it waits for only briefly, and again if it could not have them. */
export async function withShortLocks<T>(client: Client, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      await client.query(`set lock_timeout = ${LOCK_TIMEOUT_MILLISECONDS}`)
      return await work()
    } catch (error) {
      const isLockTimeout = error instanceof DatabaseError && error.code === '55P03'
      if (!isLockTimeout || attempt >= ATTEMPTS_MAX) throw error
      await sleep(PAUSE_MILLISECONDS)
    } finally {
      await client.query('set lock_timeout = 0').catch(() => {})
    }
  }
}
