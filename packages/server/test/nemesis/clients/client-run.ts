import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../seeded.ts'
import type { TestUser } from '../../servers/mail-server.ts'
import type { Bed } from '../bed.ts'
import type { History } from '../history.ts'
import type { ApiClient } from './api-client.ts'

/** An account of a run. */
export interface RunAccount {
  id: string
  user: TestUser
}

/** Context of one client until the signal ends the run. */
export interface ClientRun {
  name: string
  bed: Bed
  api: ApiClient
  accounts: readonly RunAccount[]
  history: History
  random: Random
  signal: AbortSignal
}

/** A client that does one thing after the other until the run is over. */
export type RunClient = (run: ClientRun) => Promise<void>

/** Does something again and again, with a pause after each time, until the run is over. */
export async function keepDoing(
  { random, signal }: Pick<ClientRun, 'random' | 'signal'>,
  [from, to]: readonly [number, number],
  act: () => Promise<unknown>,
): Promise<void> {
  while (!signal.aborted) {
    await act()
    await sleep(random.between(from, to), null, { signal }).catch(() => {})
  }
}
