import { sql } from 'kysely'
import type { ChangeUnit } from '../../../calls/context.ts'
import type { TestEvent } from '../webhooks/test-event.ts'
import { IN_FLIGHT_AT_FIRST } from './limits.ts'

/** Queues a test. It is attempted once, at once. */
export async function queueTest(
  unit: ChangeUnit,
  { endpointId, event }: { endpointId: string; event: TestEvent },
): Promise<void> {
  const { id, type, accountId, createdAt, data } = event
  const body = JSON.stringify({ id, type, accountId, createdAt, data, isTest: true })
  await wakeEndpoint(unit, endpointId)
  await sql`
    insert into webhook_delivery (endpoint_id, event_id, tenant_id, account_id, priority, test_type, test_body)
    values (${endpointId}, ${id}, ${unit.tenantId}, ${accountId}, 0, ${type}, ${body})
  `.execute(unit.sql)
}

/** Lets an endpoint start again: it is not failing any more, and everything that waits for it is due. */
export async function clearPauses(unit: ChangeUnit, endpointId: string): Promise<void> {
  await sql`
    update webhook_dispatch set in_flight_max = ${IN_FLIGHT_AT_FIRST}, acknowledged = 0, failures = 0, probes = 0,
      probe_at = null, paused_until = null, failed_attempts = 0, failed_event_ids = '{}', is_releasing = true,
      holds_cleared_at = clock_timestamp(), due_at = clock_timestamp()
    where endpoint_id = ${endpointId}
  `.execute(unit.sql)
  unit.wake(endpointId, 'waxwing_webhook')
}

/** Stops the deliveries of a deleted endpoint. A sweep deletes their rows. */
export async function deleteDeliveries(unit: ChangeUnit, endpointId: string): Promise<void> {
  await sql`update webhook_dispatch set due_at = null where endpoint_id = ${endpointId}`.execute(unit.sql)
  unit.wake(endpointId, 'waxwing_webhook')
}

/** Makes an endpoint due, and wakes its dispatcher after the commit. Locks it, so that it is not disabled in between. */
export async function wakeEndpoint(unit: ChangeUnit, endpointId: string): Promise<void> {
  await sql`
    insert into webhook_dispatch as dispatch (endpoint_id, tenant_id, due_at)
    values (${endpointId}, ${unit.tenantId}, clock_timestamp())
    on conflict (endpoint_id) do update set
      due_at = greatest(clock_timestamp(), dispatch.paused_until)
  `.execute(unit.sql)
  unit.wake(endpointId, 'waxwing_webhook')
}
