import { type RawBuilder, type Transaction, sql } from 'kysely'
import type { AuditAction, TargetName } from '@waxwing/contract/operation.ts'
import type { Db } from '../../../database/pool.ts'
import { executeUnawaited } from '../../../database/unawaited.ts'
import type { Tables } from '../../../database/tables.ts'
import { newId } from '../../../kit/ids.ts'
import { type AuditRow, columns, COLUMNS, type StoredRow } from './entry.ts'

const USER_AGENT_CHARACTERS_MAX = 512

/** Adds the row that describes the transaction. If that fails, so does the commit. */
export function recordRow(tx: Transaction<Tables>, row: AuditRow): Promise<void> {
  return recordRows(tx, [row])
}

/** The same for calls that share the transaction. */
export async function recordRows(tx: Transaction<Tables>, rows: readonly AuditRow[]): Promise<void> {
  // Parameters of their own are quicker to read for a single row.
  const given = rows.length === 1 ? rowOf(rows[0]!) : sql`select ${columns} from ${recordset(rows)}`
  await executeUnawaited(tx, sql`insert into audit_open (${columns}) ${given}`)
}

function rowOf(row: AuditRow): RawBuilder<unknown> {
  const stored = storedRow(row)
  const values = COLUMNS.map(name => (name === 'targets' ? JSON.stringify(stored.targets) : stored[name]))
  return sql`values (${sql.join(values)})`
}

/**
 * Adds rows of calls that committed nothing. The row of a call whose commit was not confirmed may be there already, even
 * chained: then it stays as it is.
 */
export async function recordLoneRows(db: Db, rows: readonly AuditRow[]): Promise<void> {
  await sql`
    insert into audit_open (${columns}) select ${columns} from ${recordset(rows)}
    where not exists (select from audit_entry as entry where entry.tenant_id = given.tenant_id and entry.id = given.id)
    on conflict (id) do nothing
  `.execute(db)
}

/** Adds the row of a command that changes a tenant, in the transaction of the change. */
export async function recordOperatorAction(
  tx: Transaction<Tables>,
  {
    tenantId,
    action,
    targets,
  }: { tenantId: string; action: AuditAction; targets: Record<TargetName, string> },
): Promise<void> {
  await recordRow(tx, {
    id: newId(),
    tenantId,
    actor: { type: 'operator', id: null, label: null },
    action,
    surface: 'cli',
    targets,
    ip: null,
    userAgent: null,
    status: 200,
    errorReason: null,
    requestId: newId(),
  })
}

/** One parameter, so that the statement is the same for any number of rows. */
function recordset(rows: readonly AuditRow[]) {
  return sql`json_populate_recordset(null::audit_open, ${JSON.stringify(rows.map(storedRow))}::json) as given`
}

function storedRow(row: AuditRow): StoredRow {
  const { id, tenantId, actor, action, surface, targets, ip, userAgent, status, errorReason, requestId } = row
  return {
    id,
    tenant_id: tenantId,
    actor_type: actor.type,
    actor_id: actor.id,
    actor_label: actor.label,
    action,
    surface,
    targets: { ...targets },
    ip,
    user_agent: userAgent?.slice(0, USER_AGENT_CHARACTERS_MAX) ?? null,
    status,
    error_reason: errorReason,
    request_id: requestId,
  }
}
