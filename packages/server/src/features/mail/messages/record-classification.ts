import type { Classification } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { presentSummary, summaryColumns, type SummaryRow } from './present.ts'

/**
 * Keeps and announces what a reply was found to be. The first word counts: a message that has a classification keeps
 * it. @returns whether it is news
 */
export async function recordClassification(
  unit: UnitOfWork,
  { accountId, messageId }: { accountId: string; messageId: string },
  classification: Classification,
): Promise<boolean> {
  const { rows } = await sql<SummaryRow>`
    update message set classification = ${JSON.stringify(classification)}
    where id = ${messageId} and account_id = ${accountId} and classification is null
    returning ${summaryColumns}
  `.execute(unit.sql)
  const [row] = rows
  if (!row) return false
  unit.announce({
    type: 'message.classified',
    accountId,
    data: { message: presentSummary(row), classification },
  })
  return true
}
