import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../database/pool.ts'
import { measureTroubles } from '../features/accounts/accounts/following.ts'

type Measured = Awaited<ReturnType<typeof measureTroubles>>

const KEPT_SECONDS = 10
const ANSWER_SECONDS_MAX = 2

/** Asks for accounts in trouble at most every 10 seconds, whoever asks how often. Null where no answer comes soon. */
export function askForTroubles(db: Db): () => Promise<Measured | null> {
  let asked: { at: number; answer: Promise<Measured | null> } | null = null
  return () => {
    if (asked === null || performance.now() - asked.at > KEPT_SECONDS * 1000) {
      const late = sleep(ANSWER_SECONDS_MAX * 1000, null, { ref: false })
      asked = { at: performance.now(), answer: Promise.race([measureTroubles(db).catch(() => null), late]) }
    }
    return asked.answer
  }
}
