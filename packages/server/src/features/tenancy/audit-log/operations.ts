import { implement } from '@orpc/server'
import { type AuditEntry, auditLog } from '@waxwing/contract/tenancy/audit-log.ts'
import { cutPage } from '../../../database/page.ts'
import { timeOfId } from '../../../kit/ids.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { StoredRow } from './entry.ts'
import { listRows } from './store.ts'

const on = implement(auditLog).$context<RequestContext>()

export const auditLogOperations = {
  list: on.list.handler(async ({ input: { query }, context }) => {
    const { db, tenantId, cursors } = context
    const { limit, cursor, ...filters } = query
    if (filters.from && filters.to && filters.from >= filters.to) refuse('invalid_range')
    const binding = { tenantId, list: 'audit-log', filters }
    const [beforeId = null] =
      cursor === undefined ? [] : (cursors.open(cursor, binding) ?? refuse('invalid_cursor'))
    const { page, hasMore } = cutPage(await listRows(db, { tenantId, ...filters }, beforeId, limit), limit)
    const last = page.at(-1)
    return {
      items: page.map(presentEntry),
      nextCursor: hasMore && last ? cursors.seal([last.id], binding) : null,
    }
  }),
}

function presentEntry(row: StoredRow): AuditEntry {
  return {
    id: row.id,
    createdAt: new Date(timeOfId(row.id) ?? 0).toISOString(),
    actor: { type: row.actor_type, id: row.actor_id, label: row.actor_label },
    action: row.action,
    surface: row.surface,
    targets: row.targets,
    ip: row.ip,
    userAgent: row.user_agent,
    status: row.status,
    errorReason: row.error_reason,
    requestId: row.request_id,
  }
}
