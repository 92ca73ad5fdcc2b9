import { entriesOf, type RequestEntry } from '../history.ts'
import type { Check, Violation } from '../violation.ts'

const READS = new Set(['GET', 'HEAD'])
/** Answers of requests that did nothing. */
const WITHOUT_ROW = new Set([401, 429, 503])

/** I13: the audit log has one row for each request that may have changed something, and its chain is whole. */
export const checkAudit: Check = ({ history, end }) => {
  const { rows, findings } = end.audit
  const counts = new Map<string, number>()
  for (const { requestId } of rows) counts.set(requestId, (counts.get(requestId) ?? 0) + 1)
  return [
    ...(findings > 0 ? [broken(`the chain has ${findings} findings`)] : []),
    ...entriesOf(history, 'request').flatMap(request => judge(request, counts.get(request.requestId) ?? 0)),
  ]
}

function judge(request: RequestEntry, count: number): Violation[] {
  const { method, path, status, requestId } = request
  const [fewest, most] = rowsOf(request)
  if (fewest <= count && count <= most) return []
  const expected = fewest === most ? `${most}` : `at most ${most}`
  return [
    broken(
      `${method} ${path} (${requestId}, answered ${status ?? 'never'}) has ${count} rows, not ${expected}`,
    ),
  ]
}

function rowsOf({ method, status, isReplay }: RequestEntry): [fewest: number, most: number] {
  if (READS.has(method) || isReplay) return [0, 0]
  // The answer was lost, or the database with it.
  if (status === null || (status >= 500 && status !== 503)) return [0, 1]
  // The connection was refused before the request came, or while it did.
  if (status === 408) return [0, 1]
  if (WITHOUT_ROW.has(status)) return [0, 0]
  return [1, 1]
}

function broken(message: string): Violation {
  return { invariant: 'I13', message }
}
