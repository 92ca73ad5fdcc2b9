import { newId } from '../../src/kit/ids.ts'
import type { Random } from '../seeded.ts'
import { GRACE } from '../sending/open-sending.ts'
import { waitUntil } from '../wait-until.ts'
import type { Bed } from './bed.ts'
import { openApiClient } from './clients/api-client.ts'
import type { RunAccount } from './clients/client-run.ts'
import type { NeighbourSend } from './evidence.ts'
import type { Hangers } from './hangers.ts'
import type { History } from './history.ts'

const PROBES = 3
/** No promise is so patient. */
const WAIT_SECONDS_MAX = 60

/** Sends messages of the tenant whose servers work, while all that others send hangs at the dot. */
export async function probeNeighbours(
  bed: Bed,
  {
    hangers,
    accounts,
    history,
    random,
  }: {
    hangers: Hangers
    accounts: readonly RunAccount[]
    history: History
    random: Random
  },
): Promise<NeighbourSend[]> {
  await hangers.fill()
  const api = openApiClient({
    actor: 'neighbour',
    addresses: () => bed.addresses(),
    key: bed.key,
    history,
    random,
    doubledShare: 0,
    signal: AbortSignal.timeout(WAIT_SECONDS_MAX * 1_000),
  })
  const probe = async (): Promise<NeighbourSend> => {
    const path = `/v1/accounts/${random.pick(accounts).id}/outbox`
    const key = `neighbour-${newId()}`
    const from = performance.now()
    const reply = await api.insist({
      method: 'POST',
      path,
      body: { to: [GRACE], subject: key, text: 'x' },
      key,
    })
    const { id } = reply?.body ?? {}
    if (reply?.outcome !== 'ok' || typeof id !== 'string') return { id: key, seconds: null }
    const isSent = async () => {
      const { body } = await api.send({ method: 'GET', path: `${path}/${id}` })
      return body['status'] === 'sent'
    }
    const sent = await waitUntil('a send beside others that hang', isSent, WAIT_SECONDS_MAX).catch(() => null)
    return { id, seconds: sent === null ? null : (performance.now() - from) / 1_000 }
  }
  return Promise.all(Array.from({ length: PROBES }, probe))
}
