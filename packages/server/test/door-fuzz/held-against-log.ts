import { contract } from '@waxwing/contract/contract.ts'
import type { OperationMeta } from '@waxwing/contract/operation.ts'
import { sql } from 'kysely'
import type { Db } from '../../src/database/pool.ts'
import type { FuzzAnswer } from './held-against-document.ts'

/** By the name that the document gives an operation. */
const METAS = new Map<string, OperationMeta>(
  Object.entries(contract).flatMap(([section, operations]) =>
    Object.entries(operations).map(([name, operation]) => [`${section}.${name}`, operation['~orpc'].meta]),
  ),
)
/** Such requests did nothing. */
const WITHOUT_ROW = new Set([401, 429, 503])
/** Answered either before the rate limits, where there is no row yet, or after them. */
const PERHAPS = new Set([403, 413])

/** The part of an answer that a failure message shows. */
const SHOWN_CHARACTERS = 200

/** Counts the rows that the audit log should have of answered requests. */
export class ExpectedRows {
  /** The least and the most rows of each request id, and how its last request was answered. */
  readonly #expected = new Map<string, { least: number; most: number; answer: string }>()

  note(operationId: string | null, answer: FuzzAnswer): void {
    const id = answer.headers['x-request-id'] ?? ''
    const known = this.#expected.get(id) ?? { least: 0, most: 0 }
    const described = `${operationId} ${answer.status} ${answer.text.slice(0, SHOWN_CHARACTERS)}`
    const { least, most } = rowsOf(operationId, answer)
    this.#expected.set(id, { least: known.least + least, most: known.most + most, answer: described })
  }

  /** The requests that have too few or too many rows. */
  async findProblems(db: Db): Promise<string[]> {
    const { rows } = await sql<{ request_id: string; count: number }>`
      select request_id, count(*)::int as count from audit_open group by request_id
    `.execute(db)
    const counts = new Map(rows.map(row => [row.request_id, row.count]))
    return [...this.#expected].flatMap(([id, { least, most, answer }]) => {
      const count = counts.get(id) ?? 0
      return count >= least && count <= most
        ? []
        : [`${id} has ${count} rows, not ${least} to ${most}: ${answer}`]
    })
  }
}

function rowsOf(operationId: string | null, { status, headers, text }: FuzzAnswer) {
  // A request that was made up, and may happen to be one of an operation.
  if (operationId === null) return { least: 0, most: 1 }
  const meta = METAS.get(operationId)
  const isReplayed = headers['idempotent-replayed'] === 'true'
  if (!meta?.audit || isReplayed) return { least: 0, most: 0 }
  // No valid HTTP, or no path of an operation. Only the type of a body is looked at later.
  if (text.includes('"defined":false') && status !== 415) return { least: 0, most: 0 }
  if (WITHOUT_ROW.has(status)) return { least: 0, most: 0 }
  // The session names the tenant in whose log a hosted operation has its row.
  if (meta.session !== null && text.includes(`"code":"${meta.session}_not_found"`))
    return { least: 0, most: 0 }
  return { least: PERHAPS.has(status) ? 0 : 1, most: 1 }
}
