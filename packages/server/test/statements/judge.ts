import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { REASONS, type Reason } from './reasons.ts'
import type { RanStatement } from './record.ts'

/** Compares what a whole run recorded. @returns what is wrong, to be read */
export function judgeStatements(folder: string): string[] {
  return findProblems(readStatements(folder, '18'), readStatements(folder, '16'), REASONS)
}

function readStatements(folder: string, version: string): RanStatement[] {
  const place = path.join(folder, version)
  if (!existsSync(place)) return []
  return globSync('*.json', { cwd: place }).map(
    name => JSON.parse(readFileSync(path.join(place, name), 'utf8')) as RanStatement,
  )
}

/** Finds the statements that ran on the newest PostgreSQL only, and the reasons that excuse none of them. */
export function findProblems(
  onNewest: readonly RanStatement[],
  onOldest: readonly RanStatement[],
  reasons: readonly Reason[],
): string[] {
  if (onNewest.length === 0 || onOldest.length === 0) return ['No statements were recorded.']
  const known = new Set(onOldest.map(({ text }) => text))
  const missing = onNewest.filter(({ text }) => !known.has(text))
  const isExcused = (statement: RanStatement) => reasons.some(reason => excuses(reason, statement))
  const unexcused = missing
    .filter(statement => !isExcused(statement))
    .toSorted((one, other) => (one.origin + one.text < other.origin + other.text ? -1 : 1))
  const unneeded = reasons.filter(
    reason => !reason.isRare && !missing.some(statement => excuses(reason, statement)),
  )
  return [
    ...unexcused.map(
      ({ origin, ranBy, text }) =>
        `${origin}: no test runs this on PostgreSQL 16, as ${ranBy} does on 18. Tag a test with 'postgres-16', or add a ` +
        `reason to test/statements/reasons.ts.\n    ${text}`,
    ),
    ...unneeded.map(
      ({ origin, begins }) =>
        `test/statements/reasons.ts: no statement of ${origin} needs a reason${begins ? ` that begins ${begins}` : ''}.`,
    ),
  ]
}

function excuses({ origin, begins = '' }: Reason, statement: RanStatement): boolean {
  return statement.origin === origin && statement.text.startsWith(begins)
}
