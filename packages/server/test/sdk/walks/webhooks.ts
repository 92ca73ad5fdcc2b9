import { expect } from 'vitest'
import { waitUntil } from '../../wait-until.ts'
import type { SdkWorld } from './world.ts'

const EVER = { since: '2020-01-01T00:00:00.000Z', until: '2100-01-01T00:00:00.000Z' }

/** Endpoints of webhooks and their deliveries. */
export async function walkWebhooks({ waxwing, check, receiver, account }: SdkWorld): Promise<void> {
  await account()
  const endpoint = { url: `${receiver.url}/hook`, filters: { eventTypes: ['message.created' as const] } }
  const made = await check(
    'webhooks.create',
    'POST /webhooks',
    () => waxwing.webhooks.create(endpoint),
    endpoint,
  )
  const endpointId = made.endpoint.id
  const path = `/webhooks/${endpointId}` as const
  const change = { description: 'Ours', isEnabled: true }
  await check(
    'webhooks.update',
    `PATCH ${path}`,
    () => waxwing.webhooks.update({ endpointId, ...change }),
    change,
  )
  const { items } = await check('webhooks.list', 'GET /webhooks', () => waxwing.webhooks.list())
  expect(items.map(({ description }) => description)).toContain('Ours')
  const grace = { graceSeconds: 60 }
  await check(
    'webhooks.rotateSecret',
    `POST ${path}/rotate-secret`,
    () => waxwing.webhooks.rotateSecret({ endpointId, ...grace }),
    grace,
  )
  const { eventId } = await check('webhooks.test', `POST ${path}/test`, () =>
    waxwing.webhooks.test({ endpointId }),
  )
  await waitUntil('the attempt', async () => {
    const attempts = await waxwing.webhookDeliveries.listAttempts({ endpointId, eventId })
    return attempts.items.length > 0 || null
  })
  await check(
    'webhookDeliveries.listAttempts',
    `GET ${path}/attempts?eventId=${eventId}&result=succeeded`,
    () => waxwing.webhookDeliveries.listAttempts({ endpointId, eventId, result: 'succeeded' }),
  )
  await check(
    'webhookDeliveries.replay',
    `POST ${path}/replay`,
    () => waxwing.webhookDeliveries.replay({ endpointId, ...EVER }),
    EVER,
  )
  const since = encodeURIComponent(EVER.since)
  await check(
    'webhookDeliveries.countFailedDeliveries',
    `GET ${path}/failed-deliveries/count?since=${since}`,
    () => waxwing.webhookDeliveries.countFailedDeliveries({ endpointId, since: EVER.since }),
  )
  await check(
    'webhookDeliveries.replayFailed',
    `POST ${path}/replay-failed`,
    () => waxwing.webhookDeliveries.replayFailed({ endpointId, ...EVER }),
    EVER,
  )
  const [event] = (await waxwing.changes.list({ limit: 1 })).items
  const replayedId = event?.id ?? ''
  await check('webhookDeliveries.replayEvent', `POST ${path}/events/${replayedId}/replay`, () =>
    waxwing.webhookDeliveries.replayEvent({ endpointId, eventId: replayedId }),
  )
  await check('webhooks.delete', `DELETE ${path}`, () => waxwing.webhooks.delete({ endpointId }))
}
