import type { Classification } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { announceClassified } from './announce.ts'

/**
 * Records and announces the classification of a reply. The first one counts: a message that has a classification keeps
 * it. @returns whether it is news
 */
export async function recordClassification(
  unit: UnitOfWork,
  { accountId, messageId }: { accountId: string; messageId: string },
  classification: Classification,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update message set classification = ${JSON.stringify(classification)}
    where id = ${messageId} and account_id = ${accountId} and classification is null
  `.execute(unit.sql)
  if (numAffectedRows === 0n) return false
  await announceClassified(unit, { id: accountId }, messageId, classification)
  return true
}
