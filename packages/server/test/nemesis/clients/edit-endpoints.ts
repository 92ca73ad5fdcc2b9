import { type ClientRun, keepDoing } from './client-run.ts'

const PAUSE_MILLISECONDS = [700, 3_000] as const

/** An endpoint of a run. */
export interface RunEndpoint {
  name: string
  id: string
  /** Whether it was ever disabled by its owner. */
  wasDisabled: boolean
}

/** Moves endpoints from one URL to the other, rotates their secrets, and disables some for a while. */
export async function editEndpoints(run: ClientRun, endpoints: readonly RunEndpoint[]): Promise<void> {
  await keepDoing(run, PAUSE_MILLISECONDS, () => editOne(run, run.random.pick(endpoints)))
}

async function editOne({ api, bed, random }: ClientRun, endpoint: RunEndpoint): Promise<void> {
  const path = `/v1/webhooks/${endpoint.id}`
  const kind = random.between(0, 9)
  if (kind < 5) {
    const url = bed.receivers.urlOf(endpoint.name) + (random.chance(0.5) ? '/moved' : '')
    await api.insist({ method: 'PATCH', path, body: { url } })
  } else if (kind < 8) {
    await api.insist({ method: 'POST', path: `${path}/rotate-secret`, body: { graceSeconds: 60 } })
  } else if (endpoint.wasDisabled || random.chance(0.3)) {
    endpoint.wasDisabled = true
    await api.insist({ method: 'PATCH', path, body: { isEnabled: false } })
    await api.insist({ method: 'PATCH', path, body: { isEnabled: true } })
  } else {
    await api.insist({ method: 'PATCH', path, body: { description: `edited ${random.between(0, 99)}` } })
  }
}
