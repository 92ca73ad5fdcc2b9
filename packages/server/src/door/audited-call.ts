import type { OperationMeta, TargetName } from '@waxwing/contract/operation.ts'
import type { UnitOfWork } from '../events/unit-of-work.ts'
import type { AuditRow } from '../features/tenancy/audit-log/entry.ts'
import type { LoneRows } from '../features/tenancy/audit-log/lone-rows.ts'
import { recordRows } from '../features/tenancy/audit-log/record-rows.ts'
import type { Identity } from '../features/tenancy/credentials/authenticate.ts'
import type { Credential } from '../calls/credential.ts'
import { isUuid, newId } from '../kit/ids.ts'
import type { Call } from './call.ts'

/** An id that is no UUID: that of an event is a decimal number, that of a suppression list a word. */
const WORD_ID = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
/** Such a request did nothing: its credential, a limit or the state of the service refused it. */
const UNRECORDED_STATUSES = new Set([401, 429, 503])

const ACTOR_TYPES = {
  api_key: 'apiKey',
  account_token: 'accountToken',
  connect_session: 'connectSession',
} as const satisfies Record<Credential['kind'], AuditRow['actor']['type']>

type Meta = Pick<OperationMeta, 'audit' | 'makes' | 'targets' | 'successStatus'>

/** The row of one call in the audit log. It is written once, whatever happens; calls without an action have none. */
export interface AuditedCall {
  /** Names further ids in the row. */
  target(ids: Readonly<Record<TargetName, string>>): void
  /** Writes the row of a success in the transaction of its effect, whose answer is given. */
  recordEffect(unit: UnitOfWork, answer: unknown): void
  /** Writes the row of a success that committed nothing. */
  recordSuccess(answer: unknown): Promise<void>
  /** Writes the row of a refusal. If the call had an effect nevertheless, the row of that stays. */
  recordRefusal(refusal: { status: number; reason: string }): Promise<void>
  /** Throws if what the call made is not named. Used by tests. */
  requireNamed(): void
}

export function auditCall(
  meta: Meta,
  call: Call,
  { tenantId, credential }: Identity,
  loneRows: LoneRows,
): AuditedCall {
  const { audit, makes, successStatus } = meta
  if (audit === null) return UNAUDITED
  const action = audit
  const actor = { type: ACTOR_TYPES[credential.kind], id: credential.id, label: credential.label }
  const id = newId()
  const inPath = targetsOf(meta, call.params)
  const named: Record<string, string> = {}
  let made: Record<string, string> = {}

  function rowOf(status: number, targets: Record<string, string>, errorReason: string | null): AuditRow {
    return {
      id,
      tenantId,
      actor,
      action,
      surface: call.surface,
      targets,
      ip: call.ip,
      userAgent: call.userAgent,
      status,
      errorReason,
      requestId: call.requestId,
    }
  }

  function successRow(answer: unknown): AuditRow {
    made = { ...madeId(makes, answer), ...named }
    return rowOf(successStatus, { ...inPath, ...made }, null)
  }

  return {
    target: ids => void Object.assign(named, ids),
    recordEffect: (unit, answer) => unit.leave(recordRows, successRow(answer)),
    recordSuccess: answer => loneRows.record(successRow(answer)),
    async recordRefusal({ status, reason }) {
      if (!UNRECORDED_STATUSES.has(status)) await loneRows.record(rowOf(status, inPath, reason))
    },
    requireNamed() {
      if (makes !== null && made[makes] === undefined)
        throw new Error(`The audit log lacks the ${makes}: return it as id, or name it with context.target`)
    },
  }
}

const UNAUDITED: AuditedCall = {
  target() {},
  recordEffect() {},
  recordSuccess: () => Promise.resolve(),
  recordRefusal: () => Promise.resolve(),
  requireNamed() {},
}

function madeId(makes: TargetName | null, answer: unknown): Record<string, string> {
  if (makes === null || typeof answer !== 'object' || answer === null) return {}
  const { id } = answer as { id?: unknown }
  return typeof id === 'string' ? { [makes]: id } : {}
}

/** The ids in a path. Values without the form of one are left out, so that nothing else gets into the log. */
function targetsOf(
  { targets }: Pick<OperationMeta, 'targets'>,
  params: Readonly<Record<string, string>>,
): Record<string, string> {
  const given = Object.entries(targets).flatMap(([name, form]) => {
    const id = (params[name] ?? '').toLowerCase()
    return (form === 'uuid' ? isUuid(id) : WORD_ID.test(id)) ? [[name, id]] : []
  })
  return Object.fromEntries(given)
}
