import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitUntil } from '../wait-until.ts'
import {
  countFailed,
  createEndpoint,
  happen,
  listAttempts,
  openWebhookApp,
  type WebhookApp,
} from './open-webhooks.ts'
import { answering } from './receiver.ts'

const EVENTS = 200
/** Answers after which the endpoint counts as quick, and has some claimed ahead. */
const QUICK_ANSWERS = 60
/** One of so many answers fails, which is too few for the endpoint to be failing. */
const FAILING = 4

let opened: WebhookApp
beforeAll(async () => {
  opened = await openWebhookApp()
})
afterAll(() => opened[Symbol.asyncDispose]())

test('deliveries that were claimed ahead are not posted after their endpoint was disabled', async () => {
  const { app, receiver } = opened
  const { endpoint } = await createEndpoint(app, `${receiver.url}/disabled`)
  const { endpoint: other } = await createEndpoint(app, `${receiver.url}/other`, {
    eventTypes: ['account.purged'],
  })
  const hanging: ServerResponse[] = []
  receiver.tempers['/disabled'] = response => {
    if (receiver.idsAt('/disabled').length <= QUICK_ANSWERS) response.writeHead(204).end()
    else hanging.push(response)
  }
  await happen(app, EVENTS)
  await waitUntil('requests that hang', async () => hanging.length >= 8)
  const path = `/v1/webhooks/${endpoint.id}`
  await app.patch(path, { isEnabled: false })
  // The dispatcher is notified of changes in their order.
  await app.post(`/v1/webhooks/${other.id}/test`, {})
  const [later] = await waitUntil('a later change to be heard of', async () => {
    const attempts = await listAttempts(app, other.id)
    return attempts.length > 0 && attempts
  })
  // Deliveries that were posted before the change may still arrive.
  receiver.tempers['/disabled'] = answering(204)
  for (const response of hanging) response.writeHead(204).end()
  await waitUntil(
    'them to be recorded',
    async () => (await countFailed(app, endpoint.id)) === EVENTS - receiver.idsAt('/disabled').length,
  )
  const attempts = await listAttempts(app, endpoint.id)
  // Their ids ascend with their beginnings.
  expect(attempts.filter(({ id }) => id > later!.id)).toEqual([])
  await app.delete(path)
})

test('deliveries that were claimed ahead are claimed again at once if their endpoint fails', async () => {
  const { app, receiver } = opened
  const { endpoint } = await createEndpoint(app, `${receiver.url}/fails`)
  receiver.tempers['/fails'] = response => {
    // The deliveries themselves are held, so that nothing else makes the endpoint due.
    const fails = receiver.idsAt('/fails').length % FAILING === 0
    if (fails) response.writeHead(500, { 'retry-after': '86400' }).end()
    else response.writeHead(204).end()
  }
  const ids = await happen(app, EVENTS)
  await waitUntil('all of them', async () => receiver.idsAt('/fails').length >= EVENTS)
  expect(receiver.idsAt('/fails').toSorted()).toEqual(ids.toSorted())
  await app.delete(`/v1/webhooks/${endpoint.id}`)
})
