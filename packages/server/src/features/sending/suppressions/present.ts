import { sql } from 'kysely'
import {
  GLOBAL_LIST,
  type SuppressionEntry,
  type SuppressionList,
  type SuppressionReview,
  type SuppressionSource,
} from '@waxwing/contract/sending/suppressions.ts'

export type Counts = Record<SuppressionSource, number>

export interface ListRow extends Counts {
  key: string
  id: string
  name: string
  description: string | null
  created_at: Date
}

/** The columns of `ListRow`. */
export const listColumns = sql.raw(
  'key, id, name, description, created_at, unsubscribe, bounce, api, reply, complaint, inactive',
)

export interface StoredEntry {
  id: string
  address: string
  source: SuppressionSource
  reason: string
  created_at: Date
}

export interface ReviewRow {
  id: string
  list_id: string
  address: string
  source: 'reply' | 'inactive'
  account_id: string
  message_id: string
  outbox_id: string | null
  probability: number
  alternate_contacts: string[]
  created_at: Date
}

/** The columns of `ReviewRow`. */
export const reviewColumns = sql.raw(
  'id, list_id, address, source, account_id, message_id, outbox_id, probability, alternate_contacts, created_at',
)

export function presentList(row: ListRow): SuppressionList {
  const { unsubscribe, bounce, api, reply, complaint, inactive } = row
  const counts = { unsubscribe, bounce, api, reply, complaint, inactive }
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    count: Object.values(counts).reduce((sum, count) => sum + count, 0),
    counts,
    createdAt: row.id === GLOBAL_LIST ? null : row.created_at.toISOString(),
  }
}

/** The global list of a tenant, which has no row before its first entry. */
export function presentGlobalList(row: ListRow | null): SuppressionList {
  const empty = { unsubscribe: 0, bounce: 0, api: 0, reply: 0, complaint: 0, inactive: 0 }
  const { counts, count } = row ? presentList(row) : { counts: empty, count: 0 }
  return {
    id: GLOBAL_LIST,
    name: 'Global',
    description: 'Nothing is sent to these addresses, whatever list a send names.',
    count,
    counts,
    createdAt: null,
  }
}

export function presentSuppression({ address, source, reason, created_at }: StoredEntry): SuppressionEntry {
  return { address, source, reason, createdAt: created_at.toISOString() }
}

export function presentReview(row: ReviewRow): SuppressionReview {
  return {
    id: row.id,
    listId: row.list_id,
    address: row.address,
    source: row.source,
    accountId: row.account_id,
    messageId: row.message_id,
    probability: row.probability,
    alternateContacts: row.alternate_contacts,
    createdAt: row.created_at.toISOString(),
  }
}
