import type { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { NOTIFICATION_PATH } from '../../src/connections/kinds/graph-push/receive.ts'
import { openMetrics } from '../../src/kit/metrics.ts'
import { waitUntil } from '../wait-until.ts'
import { connectGraph, openGraphApp, waitForPushes } from './open-graph-app.ts'
import { collectionOf } from './open-receivers.ts'

/** The sum of the samples with these labels. */
async function valueOf(
  metrics: Registry,
  name: string,
  labels: Record<string, string> = {},
): Promise<number> {
  const { values } = await metrics.getSingleMetric(name)!.get()
  return values
    .filter(sample => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0)
}

test('calls, waits, slots, subscriptions and notifications of Microsoft Graph are counted', async () => {
  const metrics = openMetrics()
  await using opened = await openGraphApp({ metrics, pace: { pollSeconds: 86_400 } })
  const { app, sandbox } = opened
  const read = (name: string, labels?: Record<string, string>) =>
    valueOf(metrics, `waxwing_graph_${name}`, labels)
  const toBe = (name: string, labels: Record<string, string>, value: number) =>
    waitUntil(`${name} of ${JSON.stringify(labels)}`, async () => (await read(name, labels)) === value)
  expect(await read('calls_total')).toBe(0)

  const account = await connectGraph(opened, { messages: 3 })
  await toBe('subscriptions', { state: 'current' }, 1)
  // The calls that the subscription brings about would be struck by the fault as well.
  await waitForPushes(opened, account)
  expect(await read('subscriptions')).toBe(1)
  expect(await read('calls_total', { outcome: 'answered', urgency: 'prompt' })).toBeGreaterThan(3)
  expect(await read('calls_total', { outcome: 'throttled' })).toBe(0)
  await toBe('slots_used', {}, 0)

  const forged = { method: 'POST', body: collectionOf(['forged', 'forged']) }
  expect((await fetch(app.address + NOTIFICATION_PATH, forged)).status).toBe(202)
  expect(await read('notifications_total', { outcome: 'forged' })).toBe(2)
  const [message] = await account.messages()
  const rateLimit = { does: 'rate_limit', host: 'graph.microsoft.com', count: 1, retryAfterSeconds: 600 }
  await sandbox.addFault(rateLimit)
  const change = () =>
    app.patch(`/v1/accounts/${account.accountId}/messages/${message!.id}`, { isRead: true })
  expect((await change()).status).toBeGreaterThanOrEqual(400)
  expect(await read('calls_total', { outcome: 'throttled' })).toBe(1)
  expect((await change()).status).toBeGreaterThanOrEqual(400)
  // The follower may have been held back as well.
  expect(await read('calls_total', { outcome: 'held_back' })).toBeGreaterThanOrEqual(1)
  expect(await read('wait_seconds_total', { cause: 'quota' })).toBeGreaterThan(590)
  await toBe('slots_used', {}, 0)

  const taken = await read('notifications_total', { outcome: 'taken' })
  await account.client.ask('PATCH', `messages/${(await account.client.all('messages?$select=id'))[0].id}`, {
    isRead: true,
  })
  await waitUntil(
    'a notification',
    async () => (await read('notifications_total', { outcome: 'taken' })) > taken,
  )
})
