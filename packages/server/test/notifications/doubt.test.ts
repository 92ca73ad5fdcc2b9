import type { ServerResponse } from 'node:http'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitUntil } from '../wait-until.ts'
import { createEndpoint, happen, openWebhookApp, type WebhookApp } from './open-webhooks.ts'

/** More than one claim takes. */
const EVENTS = 20
/** Events of this type do not happen, so an endpoint for it has only what a test queues. */
const FILTER = { eventTypes: ['account.purged'] }

let opened: WebhookApp
/** Called when attempts have been recorded, and nothing has been claimed since. */
let onRecorded = () => Promise.resolve()

beforeAll(async () => {
  opened = await openWebhookApp({
    reachPoint: async point => {
      if (point === 'attempts_recorded') await onRecorded()
    },
  })
})
afterAll(() => opened[Symbol.asyncDispose]())

/** An endpoint with deliveries that are due, although it is not, as if they had been claimed ahead and given up. */
async function openNotDue(name: string) {
  const { app, receiver } = opened
  const { endpoint } = await createEndpoint(app, `${receiver.url}/${name}`, FILTER)
  const { id } = endpoint
  const hanging: ServerResponse[] = []
  receiver.tempers[`/${name}`] = response => void hanging.push(response)
  const [first, ...rest] = await happen(app, 1 + EVENTS)
  const queue = (eventIds: readonly string[]) =>
    sql`
      insert into webhook_delivery (endpoint_id, event_id, tenant_id, priority)
      select ${id}, unnest(${eventIds}::bigint[]), ${app.tenantId}, 1
    `.execute(app.db)
  await queue([first!])
  await sql`
    insert into webhook_dispatch (endpoint_id, tenant_id, due_at) values (${id}, ${app.tenantId}, now())
    on conflict (endpoint_id) do update set due_at = excluded.due_at
  `.execute(app.db)
  await sql`select pg_notify('waxwing_webhook', '')`.execute(app.db)
  await waitUntil('the first attempt', async () => hanging.length === 1)
  await sql`delete from webhook_delivery where endpoint_id = ${id}`.execute(app.db)
  await queue(rest)
  return {
    id,
    /** Ends the first attempt, which changes nothing, since its delivery is not there any more. */
    raiseDoubt() {
      receiver.tempers[`/${name}`] = response => void response.writeHead(204).end()
      hanging[0]!.writeHead(500, { 'retry-after': '86400' }).end()
    },
    awaitAll: async () => {
      await waitUntil('all of them', async () => receiver.idsAt(`/${name}`).length > EVENTS)
      expect(receiver.idsAt(`/${name}`).toSorted()).toEqual([first!, ...rest].toSorted())
      await app.delete(`/v1/webhooks/${id}`)
    },
  }
}

test('an endpoint in doubt is due after a claim that has not taken all', async () => {
  const { raiseDoubt, awaitAll } = await openNotDue('many')
  raiseDoubt()
  await awaitAll()
})

test('an endpoint in doubt that is locked when it is claimed stays in doubt', async () => {
  const { app, receiver } = opened
  const { endpoint: other } = await createEndpoint(app, `${receiver.url}/other`, FILTER)
  const { id, raiseDoubt, awaitAll } = await openNotDue('locked')
  const [locked, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let holding = Promise.resolve()
  onRecorded = () => {
    onRecorded = () => Promise.resolve()
    holding = app.db.transaction().execute(async holder => {
      await sql`select from webhook_dispatch where endpoint_id = ${id} for update`.execute(holder)
      locked.resolve()
      await free.promise
    })
    return locked.promise
  }
  raiseDoubt()
  await locked.promise
  // It is claimed for after the endpoint in doubt, or together with it.
  await app.post(`/v1/webhooks/${other.id}/test`, {})
  await waitUntil('a claim', async () => receiver.idsAt('/other').length > 0)
  free.resolve()
  await holding
  await awaitAll()
})
