import { sql } from 'kysely'
import { executeUnawaited } from '../../../database/unawaited.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { planThreads, referenceKeys, type Threadable } from './threading.ts'

/**
 * Finds or creates the thread of each message, and stores the references that lead to it.
 * @returns thread id by message id, and the indexed messages whose thread became part of another one
 */
export async function recordThreads(
  unit: UnitOfWork,
  accountId: string,
  messages: readonly Threadable[],
): Promise<{ threadIds: Map<string, string>; movedMessageIds: string[] }> {
  const keys = referenceKeys(messages)
  const plan = planThreads(
    messages,
    keys,
    await findLinks(unit, accountId, [...new Set([...keys.values()].flat())]),
  )

  const movedMessageIds: string[] = []
  for (const { into, from } of plan.joins)
    movedMessageIds.push(...(await joinThreads(unit, accountId, into, from)))
  if (plan.links.length > 0) {
    const linking = sql`
      insert into thread_link (account_id, reference, thread_id)
      select ${accountId}::uuid, reference, thread_id
      from unnest(
        ${plan.links.map(link => link.reference)}::uuid[],
        ${plan.links.map(link => link.threadId)}::uuid[]
      ) as link (reference, thread_id)
      on conflict do nothing`
    await executeUnawaited(unit.sql, linking)
  }
  return { threadIds: plan.threadIds, movedMessageIds }
}

async function findLinks(
  unit: UnitOfWork,
  accountId: string,
  references: string[],
): Promise<Map<string, string>> {
  if (references.length === 0) return new Map()
  const { rows } = await sql<{ reference: string; thread_id: string }>`
    select reference, thread_id from thread_link
    where account_id = ${accountId} and reference = any(${references}::uuid[])
  `.execute(unit.sql)
  return new Map(rows.map(row => [row.reference, row.thread_id]))
}

async function joinThreads(
  unit: UnitOfWork,
  accountId: string,
  into: string,
  from: string[],
): Promise<string[]> {
  await sql`
    update thread_link set thread_id = ${into}
    where account_id = ${accountId} and thread_id = any(${from}::uuid[])
  `.execute(unit.sql)
  const { rows } = await sql<{ id: string }>`
    update message set thread_id = ${into}
    where account_id = ${accountId} and thread_id = any(${from}::text[])
    returning id
  `.execute(unit.sql)
  return rows.map(row => row.id)
}
