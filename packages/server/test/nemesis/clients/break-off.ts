import { type ClientRun, keepDoing } from './client-run.ts'

const PAUSE_MILLISECONDS = [50, 250] as const
const PATIENCE_MILLISECONDS = [0, 150] as const
/** A request that is answered at once, one that waits and one that goes on, since nothing happens in the tenant. */
const PATHS = ['/v1/accounts', '/v1/changes?waitSeconds=5', '/v1/changes/stream'] as const

/** Sends requests, and leaves before most of them have been answered. */
export async function breakOff(run: ClientRun, key: string): Promise<void> {
  await keepDoing(run, PAUSE_MILLISECONDS, () => breakOne(run, key))
}

async function breakOne({ bed, random }: ClientRun, key: string): Promise<void> {
  const addresses = bed.addresses()
  if (addresses.length === 0) return
  const signal = AbortSignal.timeout(random.between(...PATIENCE_MILLISECONDS))
  const headers = { authorization: `Bearer ${key}` }
  const answer = await fetch(random.pick(addresses) + random.pick(PATHS), { headers, signal }).catch(
    () => null,
  )
  await answer?.text().catch(() => null)
}
