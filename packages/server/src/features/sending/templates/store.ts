import type { Template, TemplateSummary } from '@waxwing/contract/sending/templates.ts'
import { sql } from 'kysely'
import { isAfter, type NewestFirst, rowsToRead } from '../../../database/page.ts'
import type { Db } from '../../../database/pool.ts'
import { Gathered } from '../../../kit/gathered.ts'
import type { TemplateFields } from '../../../kit/templating/template.ts'

/** A template without its content. */
export interface SummaryRow {
  id: string
  accountId: string | null
  name: string
  description: string | null
  source: TemplateSummary['source']
  externalRef: string | null
  created_at: Date
  updatedAt: Date
}

export type TemplateRow = SummaryRow & TemplateFields

const summaryColumns = sql.raw(
  'id, account_id as "accountId", name, description, source, external_ref as "externalRef", ' +
    'created_at, updated_at as "updatedAt"',
)
export const templateColumns = sql`${summaryColumns}, subject, html, text, preview_text as "previewText", format`

export interface TemplateFilters {
  accountId?: string | undefined
  usableBy?: string | undefined
  name?: string | undefined
  query?: string | undefined
}

/** Lists a page of templates, newest first, and at least one more if there is one. */
export async function listTemplates(
  db: Db,
  tenantId: string,
  page: { filters: TemplateFilters; position: NewestFirst | null; limit: number },
): Promise<SummaryRow[]> {
  const { accountId, usableBy, name, query } = page.filters
  const conditions = [
    sql`tenant_id = ${tenantId}`,
    isAfter(page.position, { time: 'created_at', id: 'id' }),
    ...(accountId === undefined ? [] : [sql`account_id = ${accountId}`]),
    ...(usableBy === undefined ? [] : [sql`(account_id is null or account_id = ${usableBy})`]),
    ...(name === undefined ? [] : [sql`name = ${name}`]),
    ...(query === undefined ? [] : [sql`name ilike ${`%${query.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`}`]),
  ]
  const { rows } = await sql<SummaryRow>`
    select ${summaryColumns} from template where ${sql.join(conditions, sql` and `)}
    order by created_at desc, id desc limit ${rowsToRead(page.limit)}
  `.execute(db)
  return rows
}

interface TemplateKey {
  tenantId: string
  id: string
}

/** Templates that are read by one statement. */
const READ_MAX = 100

/** Reads templates for many renders at once. */
export class TemplateReads extends Gathered<TemplateKey, TemplateRow | null> {
  constructor(db: Db) {
    super(keys => findTemplates(db, keys), READ_MAX)
  }
}

/** Templates in the order of their keys; null for missing ones. */
async function findTemplates(db: Db, keys: readonly TemplateKey[]): Promise<Array<TemplateRow | null>> {
  const nameOf = ({ tenantId, id }: TemplateKey) => `${tenantId} ${id}`
  const different = [...new Map(keys.map(key => [nameOf(key), key])).values()]
  const { rows } = await sql<TemplateRow & { tenantId: string }>`
    select tenant_id as "tenantId", ${templateColumns} from template
    where (tenant_id, id) in (
      select * from unnest(${different.map(({ tenantId }) => tenantId)}::uuid[], ${different.map(({ id }) => id)}::uuid[])
    )
  `.execute(db)
  const found = new Map(rows.map(({ tenantId, ...row }) => [nameOf({ tenantId, id: row.id }), row]))
  return keys.map(key => found.get(nameOf(key)) ?? null)
}

/** @param lock keeps others from changing it until the transaction ends */
export async function findTemplate(
  db: Db,
  tenantId: string,
  id: string,
  { lock = false } = {},
): Promise<TemplateRow | null> {
  const { rows } = await sql<TemplateRow>`
    select ${templateColumns} from template where tenant_id = ${tenantId} and id = ${id}
    ${lock ? sql`for update` : sql``}
  `.execute(db)
  return rows[0] ?? null
}

/** Columns that a change of a template may set. */
export type TemplateContent = Pick<Template, 'name' | 'description' | 'source' | 'externalRef'> &
  TemplateFields
