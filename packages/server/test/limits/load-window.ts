import { setTimeout as sleep } from 'node:timers/promises'
import type { Count } from '../../src/limits/windows.ts'

/** Between the answer to a client and its next request. */
const PAUSE_MILLISECONDS = 2

/** A request that was counted on a window, with the time of this machine before and after. */
export interface Asked {
  from: number
  to: number
  /** Null if it was not counted. */
  count: Pick<Count, 'isAccepted' | 'remaining'> | null
}

/** Lets clients ask again and again. */
export async function loadWindow(
  ask: () => Count | null | Promise<Count | null>,
  { clients, milliseconds }: { clients: number; milliseconds: number },
): Promise<Asked[]> {
  const asked: Asked[] = []
  const end = performance.now() + milliseconds
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (performance.now() < end) {
        const from = Date.now()
        const count = await ask()
        asked.push({ from, to: Date.now(), count })
        await sleep(PAUSE_MILLISECONDS)
      }
    }),
  )
  return asked
}
