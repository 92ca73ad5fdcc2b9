import type { ActorType, Surface } from '@waxwing/contract/tenancy/audit-log.ts'
import type { AuditAction } from '@waxwing/contract/operation.ts'
import { sql } from 'kysely'

/** A row of the audit log. Holds ids, and no names except the name of the key or user who acted. */
export interface AuditRow {
  /** Made by `newId` when the call came in: it holds the time of the row. */
  id: string
  tenantId: string
  actor: { type: ActorType; id: string | null; label: string | null }
  action: AuditAction
  surface: Surface
  targets: Readonly<Record<string, string>>
  ip: string | null
  userAgent: string | null
  status: number
  errorReason: string | null
  requestId: string
}

/** A row as the tables have it. */
export interface StoredRow {
  id: string
  tenant_id: string
  actor_type: ActorType
  actor_id: string | null
  actor_label: string | null
  action: string
  surface: Surface
  targets: Record<string, string>
  ip: string | null
  user_agent: string | null
  status: number
  error_reason: string | null
  request_id: string
}

/** The names of the columns of `StoredRow`. */
export const COLUMNS = [
  'id',
  'tenant_id',
  'actor_type',
  'actor_id',
  'actor_label',
  'action',
  'surface',
  'targets',
  'ip',
  'user_agent',
  'status',
  'error_reason',
  'request_id',
] as const satisfies ReadonlyArray<keyof StoredRow>

export const columns = sql.raw(COLUMNS.join(', '))
