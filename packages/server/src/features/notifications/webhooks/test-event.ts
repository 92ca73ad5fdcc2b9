import type { EventType } from '@waxwing/contract/events.ts'
import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'

/** An event that is delivered to one endpoint, and is never in the feed. */
export interface TestEvent {
  id: string
  type: EventType
  accountId: string | null
  /** As the interface writes it. */
  createdAt: string
  data: Record<string, unknown>
}

/** Gives a test an id that no event has. It takes no part in the order of the feed. */
export async function newTestEvent(
  unit: UnitOfWork,
  test: Pick<TestEvent, 'type' | 'accountId' | 'data'>,
): Promise<TestEvent> {
  const { rows } = await sql<{ id: string; createdAt: Date }>`
    select nextval('event_id')::text as id, clock_timestamp() as "createdAt"
  `.execute(unit.sql)
  const [made] = rows
  if (!made) throw new Error('The sequence of events gave no id')
  return { id: made.id, createdAt: made.createdAt.toISOString(), ...test }
}
