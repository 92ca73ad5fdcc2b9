import { sql } from 'kysely'
import { DatabaseError } from 'pg'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { refuse } from '../../../calls/refuse.ts'
import { type TemplateContent, templateColumns, type TemplateRow } from './store.ts'

/** Refuses an account that the tenant lacks, and a name that its scope has already. */
export async function recordTemplate(
  unit: UnitOfWork,
  { id, accountId, content }: { id: string; accountId: string | null; content: TemplateContent },
): Promise<TemplateRow> {
  if (accountId !== null) await requireLiveAccount(unit, accountId)
  const { rows } = await sql<TemplateRow>`
    insert into template (id, tenant_id, account_id, name, description, source, external_ref, subject, html, text,
      preview_text, format)
    values (${id}, ${unit.tenantId}, ${accountId}, ${content.name}, ${content.description}, ${content.source},
      ${content.externalRef}, ${content.subject}, ${content.html}, ${content.text}, ${content.previewText},
      ${content.format})
    on conflict (tenant_id, account_id, name) do nothing
    returning ${templateColumns}
  `.execute(unit.sql)
  return rows[0] ?? refuse('template_name_taken')
}

/** Writes a change of a locked template. Refuses a name that another one of its scope has. */
export async function recordChangedTemplate(
  unit: UnitOfWork,
  id: string,
  content: TemplateContent,
): Promise<TemplateRow> {
  const { rows } = await sql<TemplateRow>`
    update template set name = ${content.name}, description = ${content.description}, source = ${content.source},
      external_ref = ${content.externalRef}, subject = ${content.subject}, html = ${content.html},
      text = ${content.text}, preview_text = ${content.previewText}, format = ${content.format},
      updated_at = clock_timestamp()
    where tenant_id = ${unit.tenantId} and id = ${id}
    returning ${templateColumns}
  `
    .execute(unit.sql)
    .catch((error: unknown) =>
      isNameTaken(error) ? refuse('template_name_taken') : Promise.reject(error as Error),
    )
  return rows[0] ?? refuse('template_not_found')
}

export async function removeTemplate(unit: UnitOfWork, id: string): Promise<void> {
  const { numAffectedRows = 0n } = await sql`
    delete from template where tenant_id = ${unit.tenantId} and id = ${id}
  `.execute(unit.sql)
  if (numAffectedRows === 0n) refuse('template_not_found')
}

/** Keeps the account from being deleted until the commit: a purge finds the template, or the template no account. */
async function requireLiveAccount(unit: UnitOfWork, accountId: string): Promise<void> {
  const { rows } = await sql`
    select from account where tenant_id = ${unit.tenantId} and id = ${accountId} and deleted_at is null for key share
  `.execute(unit.sql)
  if (rows.length === 0) refuse('unknown_account', { ids: [accountId] })
}

/** PostgreSQL's unique_violation. The id of a row never changes, so it is the name. */
function isNameTaken(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '23505'
}
