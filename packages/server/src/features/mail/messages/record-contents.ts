import type { MessageChange } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { ContentFacts } from '../../../kit/mime/content-facts.ts'
import { recordFilledSnippets } from '../search/record.ts'
import { announceUpdated, type Changes } from './announce.ts'

export interface ReadContent {
  messageId: string
  facts: ContentFacts
}

interface ChangedRow {
  id: string
  account_id: string
  snippet: string
  is_initialized: boolean
  snippet_changed: boolean
  attachments_changed: boolean
}

/**
 * Corrects the summaries of messages that were read as a whole: the index is made from their beginnings, which may not
 * reach their text or show their attachments. An existing snippet stays as it is. Waits for no lock, since other
 * transactions lock the same rows in another order: a message that is being changed is corrected when it is read again.
 */
export async function recordContents(unit: UnitOfWork, read: readonly ReadContent[]): Promise<void> {
  const wrong = await findWrong(unit, read)
  if (wrong.length === 0) return
  const { rows: documents } = await sql<{ message_id: string }>`
    select message_id from message_search where message_id = any(${wrong}::uuid[])
    order by message_id for update skip locked
  `.execute(unit.sql)
  const held = documents.map(({ message_id: id }) => id)
  const { rows } = await sql<ChangedRow>`
    with read as (select * from ${recordsOf(read)}),
    before as (
      select message.id, message.snippet, message.has_attachments
      from read join message on message.id = read.id
      where ${IS_WRONG} and (message.id = any(${held}::uuid[]) or not exists (
        select from message_search where message_search.message_id = message.id
      ))
      order by message.id for update of message skip locked
    )
    update message set
      snippet = case when before.snippet = '' then read.snippet else before.snippet end,
      has_attachments = coalesce(read.has_attachments, before.has_attachments)
    from before join read using (id), account_half
    where message.id = before.id and account_half.account_id = message.account_id and kind = 'mail'
    returning message.id, message.account_id, message.snippet, account_half.initialized_at is not null as is_initialized,
      message.snippet <> before.snippet as snippet_changed,
      message.has_attachments <> before.has_attachments as attachments_changed
  `.execute(unit.sql)
  await recordFilledSnippets(
    unit,
    rows.filter(row => row.snippet_changed),
  )
  const initialized = Map.groupBy(
    rows.filter(row => row.is_initialized),
    row => row.account_id,
  )
  for (const [id, changed] of initialized) await announceUpdated(unit, { id }, changesOf(changed))
}

const IS_WRONG = sql`
  (message.has_attachments <> read.has_attachments or (message.snippet = '' and read.snippet <> ''))`

/** Most often none: nothing is locked for them. */
async function findWrong(unit: UnitOfWork, read: readonly ReadContent[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select message.id from ${recordsOf(read)} join message on message.id = read.id where ${IS_WRONG}
  `.execute(unit.sql)
  return rows.map(({ id }) => id)
}

function recordsOf(read: readonly ReadContent[]) {
  const records = read.map(({ messageId, facts }) => ({
    id: messageId,
    snippet: facts.snippet,
    has_attachments: facts.hasAttachments,
  }))
  return sql`json_to_recordset(${JSON.stringify(records)}::json)
    as read (id uuid, snippet text, has_attachments boolean)`
}

function changesOf(rows: readonly ChangedRow[]): Changes {
  return new Map(
    rows.map(row => {
      const changed: MessageChange[] = []
      if (row.snippet_changed) changed.push('snippet')
      if (row.attachments_changed) changed.push('hasAttachments')
      return [row.id, changed]
    }),
  )
}
